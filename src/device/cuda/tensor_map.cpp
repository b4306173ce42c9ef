#include "device/cuda/tensor_map.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/text.hpp"

namespace vostok::device::cuda {

namespace {

constexpr unsigned rank = 3;  // elements of a line, lines, matrices

std::string describe(const TensorBoxes& b) {
  return fmt::format(
      "describe to the copy engine {} x {} x {} elements at {}, lines {} bytes apart and matrices {}, in boxes of {} x "
      "{}",
      b.sizes[0], b.sizes[1], b.sizes[2], b.address, b.stride_bytes[0], b.stride_bytes[1], b.box[0], b.box[1]);
}

TensorDataType data_type(Dtype element) {
  switch (element) {
    case Dtype::f32: return TensorDataType::f32;
    case Dtype::f16: return TensorDataType::f16;
    case Dtype::bf16: return TensorDataType::bf16;
  }
  fail(ErrorCode::internal, "no tensor map has elements of type {}", static_cast<int>(element));
}

/// Lines of 128 bytes are swizzled; shorter ones follow one another.
TensorSwizzle swizzle_of(const TensorBoxes& boxes) {
  return boxes.box[0] * size_of(boxes.element) == 128 ? TensorSwizzle::bytes_128 : TensorSwizzle::none;
}

}  // namespace

void encode_tensor_map(const Driver& driver, TensorMap& map) {
  const TensorBoxes wanted = map.boxes;
  if (!driver.cuTensorMapEncodeTiled) [[unlikely]] {
    fail(ErrorCode::internal, "cannot {}: the driver, for CUDA {}, has no {}", describe(wanted), driver.version_text(),
         driver.cuTensorMapEncodeTiled.name);
  }
  const std::array<std::uint64_t, rank> sizes = {static_cast<std::uint64_t>(wanted.sizes[0]),
                                                 static_cast<std::uint64_t>(wanted.sizes[1]),
                                                 static_cast<std::uint64_t>(wanted.sizes[2])};
  const std::array<std::uint64_t, rank - 1> strides = {static_cast<std::uint64_t>(wanted.stride_bytes[0]),
                                                       static_cast<std::uint64_t>(wanted.stride_bytes[1])};
  const std::array<std::uint32_t, rank> box = {static_cast<std::uint32_t>(wanted.box[0]),
                                               static_cast<std::uint32_t>(wanted.box[1]), 1};
  constexpr std::array<std::uint32_t, rank> every_element = {1, 1, 1};
  EncodedTensorMap encoded;
  static_assert(sizeof(encoded) == sizeof(map) && alignof(EncodedTensorMap) == alignof(TensorMap));
  const Result result = driver.cuTensorMapEncodeTiled(&encoded, data_type(wanted.element), rank,
                                                      const_cast<void*>(wanted.address),  // NOLINT: only noted
                                                      sizes.data(), strides.data(), box.data(), every_element.data(),
                                                      TensorInterleave::none, swizzle_of(wanted),
                                                      TensorL2Promotion::bytes_256, TensorFill::zeros);
  if (result != Result::success) [[unlikely]]
    driver.fail_call(describe(wanted), driver.cuTensorMapEncodeTiled.name, result);
  std::memcpy(map.bytes, &encoded, sizeof(encoded));
}

}  // namespace vostok::device::cuda
