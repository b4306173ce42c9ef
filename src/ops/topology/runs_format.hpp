// Packed runs among the packed formats: one for each width of gaps and type of elements.
#pragma once

#include <memory>
#include <vector>

#include "ops/topology/packed_format.hpp"

namespace vostok::ops {

void add_runs_formats(std::vector<std::unique_ptr<PackedFormat>>& list);

}  // namespace vostok::ops
