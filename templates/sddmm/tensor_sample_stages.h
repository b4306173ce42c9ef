// Operands of tensor_sample on their way to shared memory: prepared octets of rows, which lie there as they lie here.
#pragma once

#include "abi/tensor_sample.h"
#include "parts/async_copy.h"
#include "parts/ring_place.h"
#include "parts/shared_address.h"
#include "sddmm/tensor_sample_shared.h"
#include "sddmm/tensor_sample_walk.h"

namespace vostok {

/// `count` chunks of 16 bytes, by all threads of the block.
template <class F>
__device__ inline void copy_chunks(void* to, const void* from, unsigned count) {
#pragma unroll 1
  for (unsigned i = threadIdx.x; i < count; i += threads(F::config))
    copy_async<16>(shared_address(to) + 16 * i, static_cast<const unsigned char*>(from) + 16 * i);
}

/// The same of as many bytes as are known when it is compiled.
template <class F, int bytes>
__device__ inline void copy_bytes(void* to, const void* from) {
  static_assert(bytes % 16 == 0, "whole chunks are copied");
  constexpr int chunks = bytes / 16;
  constexpr int step = threads(F::config);
  const SharedAddress own_to = shared_address(to) + 16 * threadIdx.x;
  const unsigned char* const own_from = static_cast<const unsigned char*>(from) + 16 * threadIdx.x;
#pragma unroll
  for (int i = 0; i < (chunks + step - 1) / step; ++i)
    if (chunks % step == 0 || i * step + threadIdx.x < chunks)
      copy_async<16>(own_to + 16U * i * step, own_from + i * step * 16);
}

/// Brings n block after n block of tile after tile.
template <class F>
class SampleStages {
  static constexpr auto config = F::config;
  static constexpr bool copies_lhs = config.kept_blocks == 0;

 public:
  __device__ SampleStages(const TensorSampleArgs& args, SampleShared<F>& shared)
      : args_(args), shared_(shared), walk_(args.lists) {}

  /// The next n block, where there is one; a group of copies in any case. What is known of a tile comes with its first.
  __device__ void issue(const SamplePart& part) {
    if (block_ == 0) start_tile(part);
    if (walk_.exists()) {
      copy_bytes<F, rhs_block_bytes(config)>(shared_.rhs(stage_.at), rhs_);
      rhs_ += block_bytes(args_.rhs);
      if constexpr (copies_lhs) {
        copy_bytes<F, lhs_block_bytes(config)>(shared_.lhs(stage_.at), lhs_);
        lhs_ += block_bytes(args_.lhs);
      }
      if (++block_ == part.block_count) walk_.step(args_.lists);
      if (config.tiles_per_block > 1 && block_ == part.block_count) block_ = 0;
    }
    commit_async();
    stage_.step();
  }

 private:
  static __device__ long long block_bytes(const SampledOperand& operand) {
    return static_cast<long long>(operand.octet_count) * sample_octet_bytes(config.mode);
  }

  __device__ void start_tile(const SamplePart& part) {
    constexpr int rows = tile_rows(config);
    constexpr unsigned room = config.list_room;
    const SampleTile& tile = walk_.tile();
    TileInfo<F>& info = shared_.info(walk_.number());
    if (threadIdx.x == 0) info.tile = tile;
    if (!walk_.exists()) return;
    const unsigned row = tile.row_tile * rows;
    const unsigned column = tile.column_tile * tile_columns(config);
    if constexpr (copies_lhs) lhs_ = part.octets<F>(args_, args_.lhs, row);
    rhs_ = part.octets<F>(args_, args_.rhs, column);
    copy_bytes<F, 4 * rows>(info.row_shifts, args_.lists.row_shifts + static_cast<long long>(walk_.index()) * rows);
    if constexpr (sample_scales_rows(config.mode, F::traits.element)) {
      copy_bytes<F, rows>(info.row_exponents, part.exponents(args_.lhs, row));
      copy_bytes<F, tile_columns(config)>(info.column_exponents, part.exponents(args_.rhs, column));
    }
    if constexpr (marks_rows(F::traits, config)) {
      copy_bytes<F, rows>(info.row_marks, part.marks(args_.lhs, row));
      copy_bytes<F, tile_columns(config)>(info.column_marks, part.marks(args_.rhs, column));
    }
    copy_chunks<F>(info.places, args_.lists.places + tile.first_entry,
                   padded_entries(tile.entries < room ? tile.entries : room) / entries_of_chunk());
  }

  const TensorSampleArgs& args_;
  SampleShared<F>& shared_;
  TileWalk<F> walk_;
  const unsigned char* lhs_ = nullptr;  ///< the next n block's octets
  const unsigned char* rhs_ = nullptr;
  unsigned block_ = 0;  ///< of the part, the next one
  StageIndex<config.stages> stage_;
};

}  // namespace vostok
