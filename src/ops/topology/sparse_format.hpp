// Sparse strips among the packed formats: one for each type of 16 bits.
#pragma once

#include <memory>
#include <vector>

#include "ops/topology/packed_format.hpp"

namespace vostok::ops {

void add_sparse_formats(std::vector<std::unique_ptr<PackedFormat>>& list);

}  // namespace vostok::ops
