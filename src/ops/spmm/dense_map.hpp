// B as a tensor map: the binding of kernels that copy B in place, box by box, and the problems whose B no map can
// describe.
#pragma once

#include <abi/packed_strips.h>

#include "ops/spmm/problem.hpp"
#include "ops/tensor_maps.hpp"

namespace vostok::ops {

/// The boxes into which B is cut: lines of columns by 64 k or, if it is column-major, lines of k by all columns of a
/// tile.
struct DenseBoxes {
  Layout layout;
  Dtype element;
  int tile_columns;
  int length = box_length(element);  ///< elements of a line

  /// `args`: bound arguments of a kernel.
  template <class Args>
  TensorBoxes of(const Args& args) const {
    const bool along_k = layout == Layout::column_major;
    const StoredMatrix stored = {.lines = along_k ? args.n : args.k,
                                 .length = along_k ? args.k : args.n,
                                 .leading = args.dense_leading,
                                 .stride = args.dense_stride};
    return MappedMatrices{stored, args.batch, element, along_k ? tile_columns : packed_strip_columns(), length}.of(
        args.dense);
  }
};

/// Binds a kernel's arguments and describes the map of B that follows them.
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

/// The launch of a kernel with Args, followed by B's map if `mapped`.
template <class Args, class Binding>
Launch launch_maybe_mapped(codegen::KernelRequest request, const device::LaunchShape& shape, const Binding& binding,
                           bool mapped, const DenseBoxes& boxes) {
  if (!mapped) return Launch::of<SpmmArguments, Args>(std::move(request), shape, binding);
  return Launch::of<SpmmArguments, MappedArgs<Args>>(std::move(request), shape,
                                                     MappedBinding<Binding, Args>{binding, boxes});
}

/// Whether the device, if known, cannot make tensor maps.
bool lacks_tensor_maps(const SpmmQuery& query);
/// Whether B is too large for a map; and the rule's reason.
bool is_past_tensor_maps(const SpmmQuery& query);
inline constexpr const char* past_tensor_maps_reason = "B is larger than a tensor map can say";

/// Whether tiles have fewer columns than a box of rows, which is 64 wide, and B more than a tile: boxes would then copy
/// unused columns. `layout`: in which B is copied.
bool is_narrower_than_boxes(const SpmmQuery& query, Layout layout, int tile_columns);

}  // namespace vostok::ops
