// Values into packed runs (abi/packed_runs.h), in one pass over the structure's sources: a thread gathers a piece of 16 bytes, whose
// values mostly lie side by side, and a warp stores 512 bytes that follow one another.
#pragma once

#include "abi/fixed.h"
#include "abi/pack_runs.h"
#include "parts/element.h"
#include "parts/loads.h"

namespace vostok {

/// Pieces lie on the grid's x, sets on y, and on z past what y holds.
template <class F>
__global__ void __launch_bounds__(F::config.threads) pack_runs(const __grid_constant__ PackRunsArgs args) {
  using Stored = typename Element<F::traits.element>::Storage;
  constexpr int bytes = size_of(F::traits.element);
  constexpr int length = run_piece_bytes / bytes;
  constexpr int pieces = value_pieces(bytes);
  const unsigned set = blockIdx.z * gridDim.y + blockIdx.y;
  const long long place = static_cast<long long>(blockIdx.x) * F::config.threads + threadIdx.x;
  if (set >= args.sets || place >= args.pieces) return;
  const long long run = place / (pieces * group_runs) * group_runs + place % group_runs;
  const int piece = static_cast<int>(place / group_runs % pieces);
  const auto* const values = static_cast<const Stored*>(args.values) + set * args.value_stride;

  Vector<Stored, length> packed;
  const auto* const sources = reinterpret_cast<const Vector<int, 4>*>(args.sources + run * run_slots + piece * length);
#pragma unroll
  for (int i = 0; i < length / 4; ++i) {
    const Vector<int, 4> four = load_global(sources + i);
#pragma unroll
    for (int j = 0; j < 4; ++j) packed.at[4 * i + j] = four.at[j] < 0 ? Stored{0} : load_global(values + four.at[j]);
  }
  store_global<false>(reinterpret_cast<Vector<Stored, length>*>(args.packed + set * args.set_bytes) + place, packed);
}

}  // namespace vostok
