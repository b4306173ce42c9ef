// Host code shared by sparse_tensor_mma and sparse_tensor_wgmma: traits, arguments, launches, reasons to decline, and
// the cost of a mask.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <abi/sparse_tensor.h>

#include "ops/spmm/dense_operands.hpp"
#include "ops/spmm/problem.hpp"
#include "ops/spmm/sparse_operand.hpp"
#include "ops/spmm/unpack_sum.hpp"
#include "ops/topology/sparse_strips.hpp"

namespace vostok::ops::sparse_tensor {

/// The kernel's traits. If a second launch adds several slices of k, C's layout and the epilogue are left to that
/// launch.
SparseTensorTraits traits(const SpmmQuery& query, int launched_slices);

/// Layout of the workspace of a config's launches: packed values, then sums of slices.
struct Workspace {
  SlicedProduct product;
  std::int64_t bytes = 0;
};
/// `product`: how a config cuts the product; the offset of its slices' sums is set here.
Workspace workspace(const SpmmQuery& query, SlicedProduct product);

/// Blocks of 64 k in the matrix, and in a slice of k.
std::int64_t k_blocks(const SpmmQuery& query);
std::int64_t slice_blocks(const SpmmQuery& query, int k_split);

/// Fills the kernel's arguments from a call's.
struct Binding {
  PackedOperand packed;
  SlicedProduct product;
  DenseOperands operands;
  std::int64_t slice_blocks;

  device::Dim3 operator()(const SpmmArguments& call, SparseTensorArgs& args) const;
};
Binding binding(const SpmmQuery& query, const SlicedProduct& product, const TopologyPointers& topology);

/// The launches of one execute, of which `multiply` is the product's: it packs first where calls bring values, and adds
/// slices of k last.
std::vector<Launch> launches(const SpmmQuery& query, const SlicedProduct& product, Launch multiply,
                             const TopologyPointers& topology);

/// The form of the topology that kernels read.
TopologyNeeds needs(const SpmmQuery& query);

/// Why no instruction serves the query; nothing if one may.
std::optional<std::string> declines(const SpmmQuery& query);

/// Passes of a step of 32 k for `rows` rows multiplied together, and bytes of a strip, for random nonzeros.
double expected_passes(const SpmmQuery& query, int rows);
double expected_strip_bytes(const SpmmQuery& query);

/// Microseconds of the launches other than the product's. `crowded`: by crowds_packing (ops/spmm/packed_operand.hpp).
double other_launches_us(const SpmmQuery& query, const SlicedProduct& product, bool crowded);

}  // namespace vostok::ops::sparse_tensor
