// A launch that transposes a batch of dense matrices, by which families that read rows serve column-major operands.
#pragma once

#include <cstddef>
#include <cstdint>

#include <vostok/enums.hpp>

#include <abi/dense_transpose.h>

#include "ops/grid.hpp"
#include "ops/launch.hpp"

namespace vostok::ops {

/// One transposition: destination[j, i] = source[i, j] for each matrix of the batch. Leading dimensions
/// and strides of 0 mean packed.
struct DenseTransposition {
  const void* source = nullptr;  ///< [rows, columns]
  void* destination = nullptr;   ///< [columns, rows]
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t source_leading = 0;       ///< elements between rows of the source
  std::int64_t destination_leading = 0;  ///< elements between rows of the destination
  std::int64_t source_stride = 0;        ///< elements between two matrices of the batch
  std::int64_t destination_stride = 0;
  std::int64_t batch = 1;
};

/// The address of this offset in a plan's workspace.
inline void* workspace_at(void* workspace, std::int64_t offset_bytes) {
  return static_cast<std::byte*>(workspace) + offset_bytes;
}

namespace dense_transpose {

/// `aligned`: lines of both sides begin at multiples of 16 bytes.
DenseTransposeTraits traits(Dtype element, bool aligned);
DenseTransposeConfig config(Dtype element);
codegen::KernelRequest request(Dtype element, bool aligned);
device::LaunchShape shape(Dtype element, bool aligned);
/// Fills the kernel's arguments; returns the grid.
device::Dim3 bind(const DenseTransposition& transposition, int tile, DenseTransposeArgs& args);

}  // namespace dense_transpose

/// The launch of the transposition that `describe(call)` returns for a call's arguments: pointers, and sizes that may
/// depend on the call's n. `aligned`: lines of both sides begin at multiples of 16 bytes. `describe` is a trivially
/// copyable function object, for example
///   [k](const SpmmArguments& call) { return DenseTransposition{.source = call.dense, .destination = call.workspace,
///   .rows = call.n, .columns = k}; }
template <class Call, class Describe>
Launch transpose_launch(Dtype element, bool aligned, const Describe& describe) {
  const auto binding = [describe, tile = dense_transpose::config(element).tile](const Call& call,
                                                                                DenseTransposeArgs& args) {
    return dense_transpose::bind(describe(call), tile, args);
  };
  return Launch::of<Call, DenseTransposeArgs>(dense_transpose::request(element, aligned),
                                              dense_transpose::shape(element, aligned), binding);
}

}  // namespace vostok::ops
