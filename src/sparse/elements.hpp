// Dense values on the host in the element types that devices store: what references, cases and tests convert with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <vostok/enums.hpp>

namespace vostok::sparse {

/// The value rounded to the type, to nearest, ties to even; what is too large is infinite.
float round_to(Dtype type, float value);

/// The values as the type stores them, rounded.
std::vector<std::byte> to_storage(Dtype type, std::span<const float> values);

/// What is stored. `bytes` holds whole elements.
std::vector<float> from_storage(Dtype type, std::span<const std::byte> bytes);

/// What values hold beside finite numbers, and what becomes infinite when they are stored. A result made of them may
/// then hold NaN or infinity and be right.
struct ValueFacts {
  std::int64_t count = 0;
  std::int64_t nans = 0;        ///< NaN as they are
  std::int64_t infinities = 0;  ///< infinite as they are
  std::int64_t overflows = 0;   ///< finite as they are, infinite as the type stores them
  double largest = 0;           ///< the largest finite magnitude as they are

  bool all_finite() const { return nans + infinities + overflows == 0; }  ///< as the type stores them
};

/// The facts of values that are stored as `type`, which doubles become by way of float.
ValueFacts value_facts(Dtype type, std::span<const double> values);
ValueFacts value_facts(Dtype type, std::span<const float> values);

/// Half the distance between 1 and the next larger value: the relative error of one rounding.
double unit_roundoff(Dtype type);

/// The smallest positive value.
double smallest_value(Dtype type);

}  // namespace vostok::sparse
