// How an element type is stored, and its way to and from the f32 that every sum is kept in.
#pragma once

#include "abi/enums.h"

namespace vostok {

template <Dtype dtype>
struct Element;

template <>
struct Element<Dtype::f32> {
  using Storage = float;
  static __device__ float to_float(float stored) { return stored; }
  static __device__ float from_float(float value) { return value; }
};

/// Storage of a column index.
template <IndexType type>
struct Index;

template <>
struct Index<IndexType::i32> {
  using Storage = unsigned;
};

}  // namespace vostok
