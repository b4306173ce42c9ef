// The biases of a step's scores, which a lane loads while these are multiplied, and adds once they are there: a
// register each, or a word of shared memory where lanes have no registers for them.
#pragma once

#include "abi/fused_wgmma.h"
#include "attention/score_bias.h"
#include "parts/async_copy.h"
#include "parts/shared_address.h"

namespace vostok {

/// Registers of a lane's biases. Without biases they are there as well: else those kernels would have other
/// instructions.
template <class F>
using BiasWords = unsigned[biases_in_registers(F::traits) ? F::config.step_tiles : 1][8][bias_words<F>()];

/// Nothing without biases.
template <class F, bool biased = F::traits.biased, bool in_shared = biases_in_shared(F::traits)>
class StepBias {
 public:
  __device__ StepBias(const FusedAttentionArgs&, long long, SharedAddress) {}
  __device__ void load(BiasWords<F>&, const TilePlaces<F> (&)[F::config.step_tiles],
                       const unsigned (&)[F::config.step_tiles]) const {}
};

/// In registers.
template <class F>
class StepBias<F, true, false> {
  static constexpr int tiles = F::config.step_tiles;

 public:
  __device__ StepBias(const FusedAttentionArgs& args, long long query_head, SharedAddress)
      : of_head_(args, query_head) {}

  __device__ void load(BiasWords<F>& words, const TilePlaces<F> (&places)[tiles], const unsigned (&bits)[tiles]) const {
#pragma unroll
    for (int t = 0; t < tiles; ++t) of_head_.load(words[t], places[t], 0, bits[t]);
  }

  template <int octets>
  __device__ void add(float (&scores)[octets][4], const ScoreRates<F>& rates, const BiasWords<F>& words) const {
#pragma unroll
    for (int t = 0; t < tiles; ++t) add_bias<F>(scores, rates, words[t], 8 * t);
  }

 private:
  const HeadBias<F> of_head_;
};

/// In words of shared memory that no other thread reads or writes. Those of scores that the mask does not have hold
/// what they held: such a score becomes -infinity, whatever is added.
template <class F>
class StepBias<F, true, true> {
  static constexpr int tiles = F::config.step_tiles;
  static constexpr unsigned pitch = 4 * 128 * F::config.groups;  // a word of every thread that multiplies

 public:
  /// `words`: the block's, of bias_bytes() bytes.
  __device__ StepBias(const FusedAttentionArgs& args, long long query_head, SharedAddress words)
      : of_head_(args, query_head), words_(words + 4 * threadIdx.x) {}

  __device__ void load(BiasWords<F>&, const TilePlaces<F> (&places)[tiles], const unsigned (&)[tiles]) const {
#pragma unroll
    for (int t = 0; t < tiles; ++t)
      places[t].visit_all([&](int o, int i, int place) { copy_async<4>(word(8 * t + o, i), of_head_.address(place)); });
    commit_async();
  }

  template <int octets>
  __device__ void add(float (&scores)[octets][4], const ScoreRates<F>& rates, const BiasWords<F>&) const {
    wait_async<0>();
#pragma unroll
    for (int o = 0; o < octets; ++o)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        scores[o][i] = rates.biased(scores[o][i], __builtin_bit_cast(float, load_word(word(o, i))));
  }

 private:
  __device__ SharedAddress word(int octet, int i) const { return words_ + (4 * octet + i) * pitch; }

  const HeadBias<F> of_head_;
  const SharedAddress words_;
};

}  // namespace vostok
