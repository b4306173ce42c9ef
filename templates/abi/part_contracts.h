// What parts that several families share ask of a family's Traits and Config. What each function means is said beside
// those of unpack_mma and unpack_wgmma.
#pragma once

#include "abi/fields.h"
#include "abi/sums_again.h"
#include "abi/tile_parts.h"

namespace vostok {

template <class A, class B>
concept Is = detail::same<A, B>;

/// Of spmm/unpack_shared.h, unpack_stages.h, unpack_strips.h, unpack_dense.h and unpack_team.h: stages that cp.async
/// fills, by teams of a block's threads.
template <class Traits, class Config>
concept UnpacksByTeams = requires(const Traits& t, const Config& c) {
  { threads(c) } -> Is<int>;
  { teams(c) } -> Is<int>;
  { tile_strips(c) } -> Is<int>;
  { tile_rows(c) } -> Is<int>;
  { tile_columns(c) } -> Is<int>;
  { strips_kind(t, c) } -> Is<StripsKind>;
  { splits_dense(c) } -> Is<bool>;
  { split_buffer_bytes(c) } -> Is<int>;
  { stages_columns(t, c) } -> Is<bool>;
  { copies_in_bulk(c) } -> Is<bool>;
  { dense_stage_bytes(c) } -> Is<int>;
  { column_scale_bytes(c) } -> Is<int>;
  { strip_stage_units(c) } -> Is<int>;
  { team_shared_bytes(c) } -> Is<int>;
  { shared_bytes(t, c) } -> Is<int>;
};

/// Of spmm/unpack_wgmma_shared.h, unpack_wgmma_producer.h, strip_copies.h and tile_sums.h: stages that some warps fill
/// and warpgroups multiply.
template <class Traits, class Config>
concept UnpacksByWarpgroups = requires(const Traits& t, const Config& c) {
  { threads(c) } -> Is<int>;
  { consumer_warps(c) } -> Is<int>;
  { tile_strips(c) } -> Is<int>;
  { tile_rows(c) } -> Is<int>;
  { strips_kind(t, c) } -> Is<StripsKind>;
  { lines_along_k(t, c) } -> Is<bool>;
  { copies_by_threads(c) } -> Is<bool>;
  { streams_strips(c) } -> Is<bool>;
  { kept_blocks(c) } -> Is<int>;
  { dense_rooms(c) } -> Is<int>;
  { strip_rings(c) } -> Is<int>;
  { dense_stage_bytes(t, c) } -> Is<int>;
  { column_scale_bytes(c) } -> Is<int>;
  { strip_stage_bytes(c) } -> Is<int>;
  { copied_units(c) } -> Is<int>;
  { left_collectors(c) } -> Is<int>;
  { left_batch_bytes(c) } -> Is<int>;
  { left_scratch_bytes(c) } -> Is<int>;
  { tile_parts(c) } -> Is<TileParts>;
  { launched_slices(c) } -> Is<int>;
  { shared_bytes(t, c) } -> Is<int>;
  { exchanges_registers(c) } -> Is<bool>;
  { launch_registers(c) } -> Is<int>;
  { gained_registers(c) } -> Is<int>;
  { kept_registers(c) } -> Is<int>;
};

}  // namespace vostok
