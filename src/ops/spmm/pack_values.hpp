// A launch that reorders the values of a transposed A into the transpose's order, at the start of the workspace.
#pragma once

#include <cstdint>

#include <vostok/enums.hpp>

#include "ops/launch.hpp"

namespace vostok::ops {

struct PackValues {
  Dtype element = Dtype::f32;
  const std::int32_t* positions = nullptr;  ///< the place of each value in the CSR order of A
  std::int64_t nonzeros = 0;
  std::int64_t value_stride = 0;   ///< elements between two sets of values
  std::int64_t packed_stride = 0;  ///< elements between two sets in the workspace
  std::int64_t sets = 1;
};

Launch pack_values_launch(const PackValues& what);

}  // namespace vostok::ops
