// Values into packed runs (abi/packed_runs.h), in one pass: a thread gathers a piece of 16 bytes, whose values lie side
// by side but for escapes between them, and a warp stores 512 bytes that follow one another.
#pragma once

#include "abi/fixed.h"
#include "abi/pack_runs.h"
#include "parts/dependent_launch.h"
#include "parts/element.h"
#include "parts/loads.h"

namespace vostok {

/// The escapes of a run, four slots at a time.
template <int gap_bits>
class RunEscapes {
 public:
  __device__ RunEscapes(const PackedRuns& runs, long long run) {
    const auto* const pieces = reinterpret_cast<const Vector<unsigned, 4>*>(runs.codes);
#pragma unroll
    for (int p = 0; p < code_pieces(gap_bits); ++p) {
      const Vector<unsigned, 4> piece =
          load_global(pieces + (run / group_runs() * code_pieces(gap_bits) + p) * group_runs() + run % group_runs());
#pragma unroll
      for (int w = 0; w < 4; ++w) flags_[4 * p + w] = flags_of(piece.at[w]);
    }
  }

  /// Of slots 4 * four to 4 * four + 3: bit 8 * i says whether the i-th is an escape.
  __device__ unsigned of(int four) const {
    constexpr unsigned lowest_of_bytes = 0x01010101U;
    if constexpr (gap_bits == 8) return flags_[four] & lowest_of_bytes;
    else return flags_[four / 2] >> four % 2 * 4 & lowest_of_bytes;
  }

 private:
  /// The lowest bit of each code becomes the conjunction of its bits; the others mean nothing.
  static __device__ unsigned flags_of(unsigned codes) {
    if constexpr (gap_bits == 8) codes &= codes >> 4;
    codes &= codes >> 2;
    return codes & codes >> 1;
  }

  unsigned flags_[run_slots() * gap_bits / 32];
};

/// Pieces lie on the grid's x, sets on y, and on z past what y holds.
template <class F>
__global__ void __launch_bounds__(F::config.threads) pack_runs(const __grid_constant__ PackRunsArgs args) {
  using Stored = typename Element<F::traits.element>::Storage;
  constexpr int bytes = size_of(F::traits.element);
  constexpr int length = run_piece_bytes() / bytes;
  constexpr int pieces = value_pieces(bytes);
  const unsigned set = blockIdx.z * gridDim.y + blockIdx.y;
  const long long place = static_cast<long long>(blockIdx.x) * F::config.threads + threadIdx.x;
  if (set >= args.sets || place >= args.pieces) return;
  wait_for_previous_launch();
  const long long run = place / (pieces * group_runs()) * group_runs() + place % group_runs();
  const int first_slot = static_cast<int>(place / group_runs() % pieces) * length;
  const auto* const values = static_cast<const Stored*>(args.values) + set * args.value_stride;
  const int* const positions = args.runs.positions;
  const RunEscapes<F::traits.gap_bits> escapes(args.runs, run);
  const int count = args.runs.counts[run];
  int nonzero = load_global(args.runs.firsts + run);

  Vector<Stored, length> packed;
#pragma unroll
  for (int four = 0; four < run_slots() / 4; ++four) {
    const unsigned flags = escapes.of(four);
    if (4 * four < first_slot) nonzero += 4 - __popc(flags);
    if (4 * four / length * length != first_slot) continue;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const bool exists = (flags >> 8 * i & 1U) == 0 && 4 * four + i < count;
      Stored value{0};
      if (exists) value = load_global(values + (positions != nullptr ? load_global(positions + nonzero) : nonzero));
      packed.at[(4 * four + i) % length] = value;
      if (exists) ++nonzero;
    }
  }
  store_global<false>(reinterpret_cast<Vector<Stored, length>*>(args.packed + set * args.set_bytes) + place, packed);
}

}  // namespace vostok
