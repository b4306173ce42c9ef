#include <CLI/CLI.hpp>

#include "cli/commands.hpp"

namespace vostok::cli {

namespace {

constexpr const char* examples =
    "Examples:\n"
    "  vostok run spmm --random 2048x512x0.9 --n 256            sparse times dense\n"
    "  vostok run sddmm --random 2048x512x0.9 --n 256           a product of dense matrices, where the mask is\n"
    "  vostok run softmax --random 2048x2048x0.9                over the rows of a sparse matrix\n"
    "  vostok run attention --random 1024x1024x0.95 --n 64      with a sparse mask\n"
    "  vostok run depthwise --channels 32 --height 56           a convolution\n"
    "  vostok run attention --help                              every option of a command, with more examples";

}  // namespace

void add_run(CLI::App& parent, int& status) {
  CLI::App& app = *parent.add_subcommand("run", "Run one operation, verify it against float64, and report");
  app.require_subcommand(1);
  app.footer(examples);
  add_run_spmm(app, status);
  add_run_sddmm(app, status);
  add_run_softmax(app, status);
  add_run_attention(app, status);
  add_run_depthwise(app, status);
}

}  // namespace vostok::cli
