// 16-bit operands as tensor maps: the binding of kernels that copy A and B in place, box by box, and the problems whose
// operands no map can describe.
#pragma once

#include <abi/tensor_map.h>

#include "ops/sddmm/problem.hpp"

namespace vostok::ops {

/// The boxes into which an operand is cut: 64 n by all rows of a tile or, if it is column-major, 64 rows by 64 n.
struct OperandBoxes {
  StoredMatrix stored;
  Layout layout;
  std::int64_t rows;
  std::int64_t n;
  std::int64_t batch;
  Dtype element;
  int tile_rows;

  TensorBoxes of(const void* operand) const;
};

/// The device, if known, cannot make tensor maps; and the rule's reason.
bool lacks_tensor_maps(const SddmmQuery& query);
/// A line of A or B starts where a tensor map's cannot: at no multiple of 16 bytes.
bool is_unaligned_for_maps(const SddmmQuery& query);
/// A or B is too large for a map, which counts elements, lines and matrices in 31 bits and strides in 40 bits of bytes.
bool is_past_tensor_maps(const SddmmQuery& query);
/// None of these.
bool takes_tensor_maps(const SddmmQuery& query);

}  // namespace vostok::ops
