// Arrays of indices of any stored type, and the row that a nonzero lies in.
#pragma once

#include "abi/topology.h"

namespace vostok {

template <IntegerType type>
struct Integer;
template <>
struct Integer<IntegerType::u16> {
  using Storage = unsigned short;
};
template <>
struct Integer<IntegerType::i32> {
  using Storage = int;
};
template <>
struct Integer<IntegerType::i64> {
  using Storage = long long;
};

template <IntegerType type>
__device__ inline long long read_integer(const void* array, long long index) {
  return static_cast<const typename Integer<type>::Storage*>(array)[index];
}

template <IntegerType type>
__device__ inline void write_integer(void* array, long long index, long long value) {
  static_cast<typename Integer<type>::Storage*>(array)[index] = static_cast<typename Integer<type>::Storage>(value);
}

constexpr IntegerType offset_type(bool wide) { return wide ? IntegerType::i64 : IntegerType::i32; }
constexpr IntegerType integer_type(IndexType index) {
  return index == IndexType::u16 ? IntegerType::u16 : IntegerType::i32;
}

/// The last row whose offset is not past `position`: the row that holds it. Whatever the offsets are, it is in [0,
/// rows).
template <IntegerType type>
__device__ inline long long row_of(const void* row_offsets, long long rows, long long position) {
  long long low = 0, high = rows;
  while (high - low > 1) {
    const long long middle = low + (high - low) / 2;
    (read_integer<type>(row_offsets, middle) <= position ? low : high) = middle;
  }
  return low;
}

/// The thread's number in the grid, and how many there are.
__device__ inline long long thread_in_grid() { return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline long long threads_in_grid() { return static_cast<long long>(gridDim.x) * blockDim.x; }

}  // namespace vostok
