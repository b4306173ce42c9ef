// The thread of wgmma_sample that copies: tile after tile what is known of it, and n block after n block of its
// operands.
#pragma once

#include "abi/split_dense.h"
#include "parts/bulk_copy.h"
#include "parts/dependent_launch.h"
#include "parts/loads.h"
#include "parts/tensor_copy.h"
#include "sddmm/tensor_sample_walk.h"
#include "sddmm/wgmma_sample_shared.h"

namespace vostok {

template <class F>
class SampleProducer {
  static constexpr auto config = F::config;
  static constexpr unsigned rows = tile_rows(config);
  static constexpr unsigned columns = tile_columns(config);
  static constexpr bool scaled = sample_scales_rows(config.mode, F::traits.element);

 public:
  using Args = WgmmaSampleKernelArgs<config.tensor_copies>;

  __device__ SampleProducer(const Args& args, const SamplePart& part, const WgmmaSampleShared<F>& shared)
      : all_(args), args_(args.sample), part_(part), shared_(shared), share_(TileShare::of_block(args)) {}

  /// All tiles of the block; one without entries, which ends it, is told of.
  __device__ void run() {
    SampleTile tile = load(0);
    if constexpr (config.tensor_copies) {
      prefetch_map(all_.lhs_map);
      prefetch_map(all_.rhs_map);
    }
    wait_for_previous_launch();
#pragma unroll 1
    for (unsigned number = 0; number < share_.count; ++number) {
      const SampleTile next = load(number + 1);
      wait_barrier(shared_.info_free(info_.stage), info_.parity ^ 1);
      if (tile.entries == 0) {
        arrive_expecting(listed(), sizeof(SampleTile));
        copy_tile(number);
        return;
      }
      copy_info(tile, number);
      if constexpr (config.tensor_copies) copy_boxes(tile);
      else copy_blocks(tile);
      info_.advance();
      tile = next;
    }
  }

 private:
  __device__ SampleTile load(unsigned number) const {
    return number < share_.count ? load_global(args_.lists.tiles + share_.first + number) : SampleTile{};
  }

  __device__ unsigned full() const { return shared_.full(place_.stage); }
  __device__ unsigned listed() const { return shared_.listed(info_.stage); }

  __device__ void copy_blocks(const SampleTile& tile) {
    constexpr unsigned block_bytes = sample_stage_bytes(F::traits, config);
    const unsigned char* rhs = part_.octets<F>(args_, args_.rhs, tile.column_tile * columns);
    const unsigned char* lhs = part_.octets<F>(args_, args_.lhs, tile.row_tile * rows);
#pragma unroll 1
    for (unsigned block = 0; block < part_.block_count; ++block) {
      wait_barrier(shared_.empty(place_.stage), place_.parity ^ 1);
      arrive_expecting(full(), block_bytes);
      copy_bulk(shared_.rhs(place_.stage), rhs, rhs_block_bytes(config), full());
      rhs += step_bytes(args_.rhs);
      if constexpr (!keeps_lhs(F::traits)) {
        copy_bulk(shared_.lhs(place_.stage), lhs, lhs_block_bytes(config), full());
        lhs += step_bytes(args_.lhs);
      }
      place_.advance();
    }
  }

  /// From where operands lie, by their maps.
  __device__ void copy_boxes(const SampleTile& tile) {
    constexpr unsigned stage_bytes = copied_stage_bytes(F::traits, config);
    const unsigned stages = part_.block_count * block_stages(config);
    int n = static_cast<int>(part_.first_block) * sample_block();
#pragma unroll 1
    for (unsigned stage = 0; stage < stages; ++stage, n += stage_length(config)) {
      wait_barrier(shared_.empty(place_.stage), place_.parity ^ 1);
      arrive_expecting(full(), stage_bytes);
      copy_rows<F::traits.rhs_layout, columns>(shared_.rhs(place_.stage), all_.rhs_map, tile.column_tile * columns, n);
      copy_rows<F::traits.lhs_layout, rows>(shared_.lhs(place_.stage), all_.lhs_map, tile.row_tile * rows, n);
      place_.advance();
    }
  }

  /// `count` rows of an operand, from `row` and n on.
  template <Layout layout, unsigned count>
  __device__ void copy_rows(unsigned shared, const TensorMap& map, unsigned row, int n) const {
    const int first = static_cast<int>(row), matrix = static_cast<int>(part_.matrix);
    if constexpr (layout == Layout::row_major) {
      copy_box(shared, map, n, first, matrix, full());
    } else {
      constexpr int box_rows = 64;
#pragma unroll
      for (unsigned box = 0; box < count / box_rows; ++box)
        copy_box(shared + box * split_plane_bytes(), map, first + static_cast<int>(box) * box_rows, n, matrix, full());
    }
  }

  static __device__ long long step_bytes(const SampledOperand& operand) {
    return static_cast<long long>(operand.octet_count) * sample_octet_bytes(config.mode);
  }

  /// Of the list, what there is room for.
  static __device__ unsigned place_bytes(const SampleTile& tile) {
    constexpr unsigned room = config.list_room;
    return 2 * padded_entries(tile.entries < room ? tile.entries : room);
  }
  static __device__ unsigned info_bytes(const SampleTile& tile) {
    return sizeof(SampleTile) + 4 * rows + (scaled ? rows + columns : 0) +
           (marks_rows(F::traits, config) ? rows + columns : 0) + place_bytes(tile);
  }

  __device__ void copy_tile(unsigned number) const {
    copy_to(&info().tile, args_.lists.tiles + share_.first + number, sizeof(SampleTile));
  }

  __device__ void copy_info(const SampleTile& tile, unsigned number) const {
    arrive_expecting(listed(), info_bytes(tile));
    copy_tile(number);
    copy_to(info().row_shifts, args_.lists.row_shifts + static_cast<long long>(share_.first + number) * rows, 4 * rows);
    if constexpr (scaled) {
      copy_to(info().row_exponents, part_.exponents(args_.lhs, tile.row_tile * rows), rows);
      copy_to(info().column_exponents, part_.exponents(args_.rhs, tile.column_tile * columns), columns);
    }
    if constexpr (marks_rows(F::traits, config)) {
      copy_to(info().row_marks, part_.marks(args_.lhs, tile.row_tile * rows), rows);
      copy_to(info().column_marks, part_.marks(args_.rhs, tile.column_tile * columns), columns);
    }
    copy_to(info().places, args_.lists.places + tile.first_entry, place_bytes(tile));
  }

  __device__ TileInfo<F>& info() const { return shared_.info(info_.stage); }
  __device__ void copy_to(void* to, const void* from, unsigned bytes) const {
    copy_bulk(shared_address(to).at, from, bytes, listed());
  }

  const Args& all_;
  const TensorSampleArgs& args_;
  const SamplePart& part_;
  const WgmmaSampleShared<F>& shared_;
  TileShare share_;
  StagePlace<F> place_;
  InfoPlace<F> info_;
};

}  // namespace vostok
