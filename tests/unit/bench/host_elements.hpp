// Elements in "device" memory, which is the host's, for the libraries' host doubles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "sparse/elements.hpp"

namespace vostok::bench::host {

inline float read(const void* data, Dtype type, std::int64_t index) {
  const std::int64_t bytes = size_of(type);
  return sparse::from_storage(type,
                              {static_cast<const std::byte*>(data) + index * bytes, static_cast<std::size_t>(bytes)})
      .front();
}

inline void write(void* data, Dtype type, std::int64_t index, float value) {
  const auto stored = sparse::to_storage(type, std::span(&value, 1));
  std::memcpy(static_cast<std::byte*>(data) + index * size_of(type), stored.data(), stored.size());
}

/// cudaDataType's values.
template <class DataType>
Dtype element(DataType type) {
  return type == DataType::f16 ? Dtype::f16 : type == DataType::bf16 ? Dtype::bf16 : Dtype::f32;
}

}  // namespace vostok::bench::host
