// What sparse_tensor_mma and sparse_tensor_wgmma have in common on the host: traits, arguments, reasons to decline, and what a mask costs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <abi/sparse_tensor.h>

#include "ops/spmm/problem.hpp"
#include "ops/spmm/sparse_operand.hpp"
#include "ops/spmm/unpack_sum.hpp"
#include "ops/topology/sparse_strips.hpp"

namespace vostok::ops::sparse_tensor {

/// What the problem fixes for the kernel. Where a second launch adds up several slices of k, the kernel leaves C and the epilogue to it.
SparseTensorTraits traits(const SpmmQuery& query, int launched_slices);

/// Where a config's launches leave what they prepare: packed values, then sums of slices.
struct Workspace {
  SlicedProduct product;
  std::int64_t bytes = 0;
};
/// `product`: how a config cuts it; where its slices' sums lie is decided here.
Workspace workspace(const SpmmQuery& query, SlicedProduct product);

/// k blocks of 64 of the matrix, and of a slice of k.
std::int64_t k_blocks(const SpmmQuery& query);
std::int64_t slice_blocks(const SpmmQuery& query, int k_split);

/// What fills the kernel's arguments from a call's.
struct Binding {
  PackedOperand packed;
  SlicedProduct product;
  std::int64_t m;
  std::int64_t k;
  std::int64_t batch;
  Layout dense_layout;
  Layout output_layout;
  std::int64_t dense_leading;  ///< these are the problem's: 0 where packed
  std::int64_t dense_stride;
  std::int64_t output_leading;
  std::int64_t output_stride;
  std::int64_t slice_blocks;

  device::Dim3 operator()(const SpmmArguments& call, SparseTensorArgs& args) const;
};
Binding binding(const SpmmQuery& query, const SlicedProduct& product, const TopologyPointers& topology);

/// The form of the topology that kernels read.
TopologyNeeds needs(const SpmmQuery& query);

/// Why no instruction serves the query; nothing where one may.
std::optional<std::string> declines(const SpmmQuery& query);

/// C that does not stay in L2 anyway is streamed past it.
bool streams_output(const SpmmQuery& query);

/// Passes that a step of 32 k has, of `rows` rows that are multiplied together, and bytes of a strip, where nonzeros lie at random.
double expected_passes(const SpmmQuery& query, int rows);
double expected_strip_bytes(const SpmmQuery& query);

/// Microseconds of the launches beside the product's. `crowded`: by crowds_packing (ops/spmm/packed_operand.hpp).
double other_launches_us(const SpmmQuery& query, const SlicedProduct& product, bool crowded);

}  // namespace vostok::ops::sparse_tensor
