// What a product may be expected to take at most: a choice that takes far longer is told of, and tuned first.
#pragma once

#include <algorithm>
#include <optional>

#include "ops/family.hpp"

namespace vostok::ops {

struct ProductBound {
  double memory_us = 0;  ///< every operand once over the device's memory
  double dense_us = 0;   ///< the dense product of the same sizes in the same arithmetic

  double us() const { return std::max(memory_us, dense_us); }
  /// More than twice what a small launch and the longer of both take together.
  bool exceeded_by(double us) const {
    constexpr double small_launch_us = 3;
    return us > 2 * (small_launch_us + this->us());
  }
};

/// Whether dense products were measured on GPUs of its architecture: sm_90.
bool has_product_bounds(const device::Device& device);

/// Of SpMM and SDDMM on such a GPU. Nothing else has one.
std::optional<ProductBound> product_bound(const Query& query);

}  // namespace vostok::ops
