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

/// Half the distance between 1 and the next larger value: the relative error of one rounding.
double unit_roundoff(Dtype type);

/// The smallest positive value.
double smallest_value(Dtype type);

}  // namespace vostok::sparse
