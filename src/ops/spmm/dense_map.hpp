// B of 16-bit elements as a tensor map has it: what kernels that copy it from where it lies, box by box, are bound with, and which problems have
// a B that no map describes.
#pragma once

#include <abi/tensor_map.h>

#include "ops/spmm/problem.hpp"

namespace vostok::ops {

/// How B is cut into boxes: of 64 columns by 64 k, or where it is column-major of 64 k by all columns of a tile.
struct DenseBoxes {
  Layout layout;
  Dtype element;
  int tile_columns;

  /// `args`: a kernel's, bound.
  template <class Args>
  TensorBoxes of(const Args& args) const {
    constexpr int edge = 64;
    const bool along_k = layout == Layout::column_major;
    const long long line_bytes = args.dense_leading * size_of(element);
    // One matrix has no next one, and its size need not be a legal stride.
    const long long matrix_bytes = args.batch > 1 ? args.dense_stride * size_of(element) : line_bytes;
    return {.address = args.dense,
            .sizes = {along_k ? args.k : args.n, along_k ? args.n : args.k, args.batch},
            .stride_bytes = {line_bytes, matrix_bytes},
            .box = {edge, along_k ? tile_columns : edge},
            .element = element};
  }
};

/// Binds a kernel's arguments, and says what B's map behind them is to be.
template <class Binding, class Args>
struct MappedBinding {
  Binding binding;
  DenseBoxes boxes;

  device::Dim3 operator()(const SpmmArguments& call, MappedArgs<Args>& args) const {
    const device::Dim3 grid = binding(call, static_cast<Args&>(args));
    args.dense_map.boxes = boxes.of(args);
    return grid;
  }
};

/// The launch of a kernel that takes Args, with B's map behind them where `mapped`.
template <class Args, class Binding>
Launch launch_maybe_mapped(codegen::KernelRequest request, const device::LaunchShape& shape, const Binding& binding, bool mapped,
                           const DenseBoxes& boxes) {
  if (!mapped) return Launch::of<SpmmArguments, Args>(std::move(request), shape, binding);
  return Launch::of<SpmmArguments, MappedArgs<Args>>(std::move(request), shape, MappedBinding<Binding, Args>{binding, boxes});
}

/// Whether the device, where it is known, cannot make tensor maps; and the reason that a rule gives.
bool lacks_tensor_maps(const SpmmQuery& query);
inline constexpr const char* lacks_tensor_maps_reason = "tensor_copies takes a driver of CUDA 12.0 or newer: this one makes no tensor maps";

/// Whether B is too large for a map: elements, lines and matrices are counted in 31 bits, strides in 40 bits of bytes.
bool is_past_tensor_maps(const SpmmQuery& query);
inline constexpr const char* past_tensor_maps_reason = "B is larger than a tensor map can say";

/// Whether tiles have fewer columns than a box, which is 64 wide, and B more than a tile: boxes would bring what nobody asked for.
bool is_narrower_than_boxes(const SpmmQuery& query, int tile_columns);

}  // namespace vostok::ops
