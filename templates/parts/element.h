// How an element type is stored, and its way to and from the f32 that every sum is kept in.
#pragma once

#include "abi/enums.h"
#include "parts/half.h"

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
};

template <>
struct Element<Dtype::bf16> {
  using Storage = unsigned short;
  static __device__ float to_float(unsigned short stored) { return bf16_to_f32(stored); }
  static __device__ unsigned short from_float(float value) { return f32_to_bf16(value); }
};

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
