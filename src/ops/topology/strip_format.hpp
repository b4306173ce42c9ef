// Packed strips among the packed formats: one for each mode and grain.
#pragma once

#include <memory>
#include <vector>

#include "ops/topology/packed_format.hpp"

namespace vostok::ops {

void add_strip_formats(std::vector<std::unique_ptr<PackedFormat>>& list);

}  // namespace vostok::ops
