// Search in a row whose columns ascend.
#pragma once

#include "topology/integer.h"

namespace vostok {

/// The first of the nonzeros [low, high) of a row whose column is not below `column`.
template <IntegerType type>
__device__ inline int first_not_below(const void* columns, int low, int high, long long column) {
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (read_integer<type>(columns, middle) < column) low = middle + 1;
    else high = middle;
  }
  return low;
}

}  // namespace vostok
