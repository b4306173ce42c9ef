// NumPy's files, as matrices and as arrays.
#include "fuzz/matrix.hpp"

void vostok::fuzz::read_input(std::string_view bytes) {
  read_matrix(bytes, "input.npy", sparse::parse_npy);
  sparse::DenseArray array;
  if (!takes([&] { array = sparse::parse_array(source_of(bytes, "input.npy")); })) return;
  std::int64_t elements = 1;
  for (const std::int64_t size : array.shape) elements *= size;
  require(elements == static_cast<std::int64_t>(array.values.size()), "an array has as many values as its shape says");
}
