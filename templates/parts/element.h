// How an element type is stored, and its way to and from the f32 that every sum is kept in.
#pragma once

#include "abi/enums.h"
#include "parts/half.h"
#include "parts/vector.h"

namespace vostok {

template <Dtype dtype>
struct Element;

template <>
struct Element<Dtype::f32> {
  using Storage = float;
  static __device__ float to_float(float stored) { return stored; }
  static __device__ float from_float(float value) { return value; }
};

template <>
struct Element<Dtype::f16> {
  using Storage = unsigned short;
  static __device__ float to_float(unsigned short stored) { return f16_to_f32(stored); }
  static __device__ unsigned short from_float(float value) { return f32_to_f16(value); }
  static __device__ unsigned pair_from_float(float first, float second) { return f32_to_f16_pair(first, second); }
};

template <>
struct Element<Dtype::bf16> {
  using Storage = unsigned short;
  static __device__ float to_float(unsigned short stored) { return bf16_to_f32(stored); }
  static __device__ unsigned short from_float(float value) { return f32_to_bf16(value); }
  static __device__ unsigned pair_from_float(float first, float second) { return f32_to_bf16_pair(first, second); }
};

/// Neighbouring values as they are stored.
template <Dtype dtype, int count>
__device__ inline Vector<typename Element<dtype>::Storage, count> stored_vector(const float (&values)[count]) {
  using Whole = Vector<typename Element<dtype>::Storage, count>;
  if constexpr (size_of(dtype) == 2 && count % 2 == 0) {
    Vector<unsigned, count / 2> pairs;
#pragma unroll
    for (int i = 0; i < count / 2; ++i) pairs.at[i] = Element<dtype>::pair_from_float(values[2 * i], values[2 * i + 1]);
    return __builtin_bit_cast(Whole, pairs);
  } else {
    Whole whole;
#pragma unroll
    for (int i = 0; i < count; ++i) whole.at[i] = Element<dtype>::from_float(values[i]);
    return whole;
  }
}

/// Storage of a column index.
template <IndexType type>
struct Index;

template <>
struct Index<IndexType::i32> {
  using Storage = unsigned;
};

template <>
struct Index<IndexType::u16> {
  using Storage = unsigned short;
};

}  // namespace vostok
