// Elements of a matrix that a mask keeps, counted and written in row-major order: a warp takes a row, lanes take
// neighbouring columns, and ballots give every kept element its place.
#pragma once

#include "abi/fixed.h"
#include "topology/integer.h"
#include "topology/mask_keys.h"

namespace vostok {

enum class Verdict : unsigned char { dropped, kept, tied };

/// What a mask says about one row.
template <class F>
struct MaskRow {
  static constexpr MaskKind kind = F::traits.kind;
  static constexpr bool by_rule = kind == MaskKind::largest || kind == MaskKind::uniform || kind == MaskKind::blocks;
  static constexpr bool competes = kind == MaskKind::largest;  ///< equal keys compete for what a rule leaves

  const MaskArgs& args;
  long long row;
  RowKeys<kind, F::traits.element> keys;
  SelectionRule rule = {0, 0};

  __device__ MaskRow(const MaskArgs& of, long long number)
      : args(of), row(number), keys(of, kind == MaskKind::blocks ? number / of.rows_per_rule : number) {
    if constexpr (by_rule) rule = of.rules[number / of.rows_per_rule];
  }

  __device__ Verdict verdict(long long column) const {
    if (column >= args.cols) return Verdict::dropped;
    if constexpr (by_rule) {
      const unsigned long long key = keys.key(kind == MaskKind::blocks ? column / args.rows_per_rule : column);
      // Random keys are distinct within a rule: where there is a tie, it is the one.
      if (key + (competes ? 0 : rule.ties) >= rule.lower) return Verdict::kept;
      return competes && key + 1 == rule.lower ? Verdict::tied : Verdict::dropped;
    } else {
      const bool in_band = column >= row - args.band_before && column <= row + args.band_after;
      if (in_band) return Verdict::kept;
      if constexpr (kind == MaskKind::banded) return Verdict::dropped;
      if (args.causal && column > row) return Verdict::dropped;
      const long long distance = column > row ? column - row : row - column;
      return draw(keys.seed_of_row, column) < args.probabilities[distance] ? Verdict::kept : Verdict::dropped;
    }
  }

  /// Ties that this row may keep.
  __device__ unsigned long long ties_allowed() const {
    const unsigned long long before =
        args.tie_offsets == nullptr ? 0 : static_cast<unsigned long long>(args.tie_offsets[row]);
    return rule.ties > before ? rule.ties - before : 0;
  }
};

__device__ inline long long warp_in_grid() { return thread_in_grid() / 32; }
__device__ inline long long warps_in_grid() { return threads_in_grid() / 32; }

template <class F>
__global__ void __launch_bounds__(F::config.threads) mask_count(const __grid_constant__ MaskArgs args) {
  const unsigned lane = threadIdx.x % 32;
  for (long long row = warp_in_grid(); row < args.rows; row += warps_in_grid()) {
    const MaskRow<F> mask(args, row);
    unsigned kept = 0, ties = 0;
    for (long long first = 0; first < args.cols; first += 32) {
      const Verdict verdict = mask.verdict(first + lane);
      kept += __popc(__ballot_sync(0xffffffffU, verdict == Verdict::kept));
      if constexpr (MaskRow<F>::competes) ties += __popc(__ballot_sync(0xffffffffU, verdict == Verdict::tied));
    }
    if (lane != 0) continue;
    if (args.ties != nullptr) {
      args.ties[row] = ties;
    } else {
      const unsigned long long allowed = mask.ties_allowed();
      kept += ties < allowed ? ties : static_cast<unsigned>(allowed);
    }
    args.kept[row] = kept;
  }
}

/// Where rules span rows: the ties that are left for each row once those before it have taken theirs.
template <class F>
__global__ void __launch_bounds__(F::config.threads) mask_add_ties(const __grid_constant__ MaskArgs args) {
  for (long long row = thread_in_grid(); row < args.rows; row += threads_in_grid()) {
    const unsigned long long allowed = MaskRow<F>(args, row).ties_allowed();
    args.kept[row] += args.ties[row] < allowed ? args.ties[row] : static_cast<unsigned>(allowed);
  }
}

template <class F>
__global__ void __launch_bounds__(F::config.threads) mask_fill(const __grid_constant__ MaskArgs args) {
  using Storage = typename Element<F::traits.element>::Storage;
  const unsigned lane = threadIdx.x % 32;
  const unsigned lanes_before = (1U << lane) - 1U;
  for (long long row = warp_in_grid(); row < args.rows; row += warps_in_grid()) {
    const MaskRow<F> mask(args, row);
    const unsigned long long allowed = mask.ties_allowed();
    unsigned long long ties_seen = 0;
    long long next = args.row_offsets[row];
    for (long long first = 0; first < args.cols; first += 32) {
      const Verdict verdict = mask.verdict(first + lane);
      bool kept = verdict == Verdict::kept;
      if constexpr (MaskRow<F>::competes) {
        const unsigned tied = __ballot_sync(0xffffffffU, verdict == Verdict::tied);
        kept = kept || (verdict == Verdict::tied && ties_seen + __popc(tied & lanes_before) < allowed);
        ties_seen += __popc(tied);
      }
      const unsigned kept_lanes = __ballot_sync(0xffffffffU, kept);
      if (kept) {
        const long long place = next + __popc(kept_lanes & lanes_before);
        args.columns[place] = static_cast<int>(first + lane);
        if constexpr (F::traits.kind == MaskKind::largest)
          static_cast<Storage*>(args.values)[place] = mask.keys.dense_row[first + lane];
      }
      next += __popc(kept_lanes);
    }
  }
}

}  // namespace vostok
