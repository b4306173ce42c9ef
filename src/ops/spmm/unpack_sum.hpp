// The second launch of a product whose k is cut into slices (abi/unpack_sum.h), and the memory between the two
// launches.
#pragma once

#include <cstdint>

#include <abi/unpack_sum.h>

#include "ops/spmm/packed_operand.hpp"
#include "ops/spmm/problem.hpp"
#include "ops/stored_matrix.hpp"

namespace vostok::ops {

/// How k is cut, and whether the slices' blocks add up as a cluster.
struct Slicing {
  int k_split;
  bool cluster_sums;
};

/// Whether the clusters of slices exceed a grid; and the rule's reason.
bool exceeds_clusters(const Slicing& slicing, std::int64_t batch);
inline constexpr const char* exceeds_clusters_reason = "the grid's y holds fewer clusters than the batch has";

/// How a product is cut into tiles and slices.
struct SlicedProduct {
  int tile_rows = 0;
  int tile_columns = 0;
  int k_split = 1;
  bool cluster_sums = false;              ///< slices add up within a cluster: no memory between, no second launch
  std::int64_t partial_offset_bytes = 0;  ///< offset of the slices' sums in the workspace, a multiple of 256
  bool stream_output = false;
  std::int64_t most_blocks = 0;  ///< that share the tiles where blocks are persistent; 0: a block for each tile

  /// Whether a second launch adds the slices.
  bool needs_launch() const { return k_split > 1 && !cluster_sums; }
};

/// The grid of the blocks that compute `tiles` tiles of each product.
device::Dim3 grid_of_tiles(const SlicedProduct& product, std::int64_t tiles, std::int64_t batch);

/// Persistent blocks that fill the device once.
std::int64_t filling_blocks(const SpmmQuery& query, int min_blocks);
/// Whether blocks that fill the device have several tiles each: else persistent ones do as others.
bool shares_tiles(const SpmmQuery& query, int tile_rows, int tile_columns, int min_blocks);

/// Bytes of the sums of all slices for the largest n; 0 if no second launch adds them.
std::int64_t partial_sums_bytes(const SpmmQuery& query, const SlicedProduct& product);

/// The address and layout of a call's sums of slices. `m`: rows of C.
PartialSums partial_sums(const SlicedProduct& product, std::int64_t m, const SpmmArguments& call);

/// B as the caller has it, for sums that are made again. `stored`: how it lies.
WholeDense whole_dense(Layout layout, const StoredMatrix& stored, const void* first);

/// Whether what B holds in rows that A does not name must not show. Tensor cores multiply these elements by zeros, so
/// that such sums are made again.
inline bool certifies(const SpmmQuery& query) { return query.problem.nonfinite == NonFinite::sparse; }

/// Whether a mode's products are less exact than the problem's math allows; and the rule's reason.
inline bool lacks_tf32(const SpmmQuery& query, PackedMode mode) {
  const bool is_short = mode == PackedMode::bf16x3 || mode == PackedMode::f16_scaled;
  return is_short && query.problem.math != Math::tf32;
}
inline constexpr const char* lacks_tf32_reason = "modes bf16x3 and f16_scaled take math = tf32";

/// What the second launch makes sums again from, if it does.
struct SumsAgain {
  StripsKind kind = {};
  PackedOperand packed = {};
};

Launch unpack_sum_launch(const SpmmQuery& query, const SlicedProduct& product, const SumsAgain& again);

}  // namespace vostok::ops
