// SciPy's files: archives of arrays.
#include "fuzz/matrix.hpp"

void vostok::fuzz::read_input(std::string_view bytes) { read_matrix(bytes, "input.npz", sparse::parse_npz); }
