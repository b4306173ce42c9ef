// The second launch of a product whose k was cut into slices (abi/unpack_sum.h), and the memory between the two.
#pragma once

#include <cstdint>

#include <abi/unpack_sum.h>

#include "ops/spmm/problem.hpp"

namespace vostok::ops {

/// How k is cut, and whether the slices' blocks add up as a cluster.
struct Slicing {
  int k_split;
  bool cluster_sums;
};

/// How a product is cut.
struct SlicedProduct {
  int tile_rows = 0;
  int tile_columns = 0;
  int k_split = 1;
  bool cluster_sums = false;              ///< slices add up by themselves: no memory between, no second launch
  std::int64_t partial_offset_bytes = 0;  ///< where the slices' sums lie in the workspace, a multiple of 256
  bool stream_output = false;
};

/// Bytes of the sums of all slices for the largest n; none where k is whole.
std::int64_t partial_sums_bytes(const SpmmQuery& query, const SlicedProduct& product);

/// Where a call's slices leave their sums. `m`: rows of C.
PartialSums partial_sums(const SlicedProduct& product, std::int64_t m, const SpmmArguments& call);

Launch unpack_sum_launch(const SpmmQuery& query, const SlicedProduct& product);

}  // namespace vostok::ops
