// The transpose of a structure, on the host.
#pragma once

#include <cstdint>
#include <vector>

#include "sparse/csr.hpp"

namespace vostok::sparse {

struct Transposed {
  Csr csr;  ///< cols rows; entries of a row in the order of the source's rows; values follow where there are any
  std::vector<std::int32_t> value_positions;  ///< where each entry lies in the source
};

/// A counting sort by column, stable. `csr` must be valid.
Transposed transpose(const Csr& csr);

}  // namespace vostok::sparse
