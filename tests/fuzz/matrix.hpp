// What must hold of a matrix that a reader took.
#pragma once

#include "fuzz/input.hpp"
#include "sparse/read.hpp"

namespace vostok::fuzz {

/// What a reader may take beside the input, so that no input takes the machine's memory.
constexpr std::int64_t most_bytes = std::int64_t{256} << 20;

inline sparse::Source source_of(std::string_view bytes, const char* name) {
  return {.bytes = bytes, .name = name, .memory_bytes = most_bytes};
}

inline void require_sound(const sparse::Csr& csr) {
  sparse::validate(csr.rows, csr.cols, csr.row_offsets, csr.column_indices, "a matrix that was read");
  require(csr.values.empty() || csr.values.size() == csr.column_indices.size(),
          "a matrix has no value or one for each nonzero");
}

/// One format's reader.
template <class Parse>
void read_matrix(std::string_view bytes, const char* name, const Parse& parse) {
  sparse::Csr csr;
  if (takes([&] { csr = parse(source_of(bytes, name)); })) require_sound(csr);
}

}  // namespace vostok::fuzz
