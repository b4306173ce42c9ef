// Compressed matrices.
#include "fuzz/matrix.hpp"

void vostok::fuzz::read_input(std::string_view bytes) { read_matrix(bytes, "input.mtx.gz", sparse::parse); }
