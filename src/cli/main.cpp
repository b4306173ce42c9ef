#include "cli/tool.hpp"

int main(int argc, char** argv) { return vostok::cli::run_tool(argc, argv); }
