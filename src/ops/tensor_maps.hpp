// Matrices as tensor maps, of kernels that copy operands from where they lie, box by box; and the matrices that no map
// can describe.
#pragma once

#include <abi/tensor_map.h>

#include "ops/stored_matrix.hpp"

namespace vostok::device {
class Device;
}

namespace vostok::ops {

/// Elements of a line in a box: 128 bytes, a line of the swizzle.
constexpr int box_length(Dtype element) { return 128 / size_of(element); }

/// A batch of matrices in boxes of `box_lines` lines of `box_length` elements.
struct MappedMatrices {
  StoredMatrix stored;
  std::int64_t batch;
  Dtype element;
  int box_lines;
  int box_length = ops::box_length(element);

  TensorBoxes of(const void* first) const;
};

/// Whether the device, if known, cannot make tensor maps; and the rule's reason.
bool lacks_tensor_maps(const device::Device* device);
inline constexpr const char* lacks_tensor_maps_reason =
    "tensor_copies takes a driver of CUDA 12.0 or newer: this one makes no tensor maps";

/// Whether matrices are too large for a map, which counts elements, lines and matrices in 31 bits and strides in 40
/// bits of bytes.
bool is_past_tensor_maps(const StoredMatrix& stored, std::int64_t batch, Dtype element);

}  // namespace vostok::ops
