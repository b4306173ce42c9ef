// A bound on the time of a reasonable product: a choice far above it is reported as slow, and tuned first.
#pragma once

#include <algorithm>
#include <optional>

#include "ops/family.hpp"

namespace vostok::ops {

struct ProductBound {
  double memory_us = 0;  ///< memory time of reading or writing every operand once
  double dense_us = 0;   ///< time of the dense product of the same sizes in the same arithmetic

  double us() const { return std::max(memory_us, dense_us); }
  /// Whether `us` exceeds twice the sum of a small launch and the bound.
  bool exceeded_by(double us) const {
    constexpr double small_launch_us = 3;
    return us > 2 * (small_launch_us + this->us());
  }
};

/// Whether dense products were measured on GPUs of this architecture: sm_90.
bool has_product_bounds(const device::Device& device);

/// For SpMM and SDDMM on such a GPU; nothing for anything else.
std::optional<ProductBound> product_bound(const Query& query);

}  // namespace vostok::ops
