// What a warpgroup of fused_wgmma computes of its 64 queries: scores of a step, their exponentials, and their product
// with values. PTX only.
#pragma once

#include "abi/fused_wgmma.h"
#include "attention/attention_work.h"
#include "attention/dropout.h"
#include "attention/online_softmax.h"
#include "attention/score_bias.h"
#include "attention/score_scales.h"
#include "attention/soft_cap.h"
#include "attention/step_bias.h"
#include "attention/wgmma_stages.h"
#include "parts/ldmatrix.h"
#include "parts/opaque.h"
#include "parts/wgmma.h"

namespace vostok {

/// What a warpgroup computes.
template <class F>
class AttentionGroup {
  static constexpr auto traits = F::traits;
  static constexpr bool keeps = F::config.keeps_queries;
  static constexpr int keys_of_step = step_keys(F::config);
  static constexpr int octets = keys_of_step / 8, key_steps = traits.key_size / 16;
  static constexpr int width = value_width(traits), parts = line_parts(traits);
  static constexpr Dtype type = multiplied_type(traits);
  using Products = WarpgroupMma<keys_of_step>;
  using StepBits = unsigned[F::config.step_tiles];

 public:
  /// The group's number among the block's that multiply; the warp's strip.
  __device__ AttentionGroup(const FusedAttentionArgs& args, const AttentionWork<F>& work,
                            const AttentionStages<F>& stages, unsigned group, unsigned strip)
      : queries_(stages.shared),
        group_(group),
        bias_(args, work.head, {stages.biases()}),
        negative_(traits.terms == 0 && ScoreRates<F>::flips_scores(args)) {
    scales_.begin(args, work.head, work.first_row + strip * strip_queries());
  }

  /// Once the queries are in shared memory.
  __device__ void take_queries() {
    if constexpr (keeps) {
      const unsigned lane = threadIdx.x % 32;
      const int line = static_cast<int>(group_ * group_queries() + threadIdx.x / 32 % 4 * strip_queries() +
                                        lane / 8 % 2 * 8 + lane % 8);
#pragma unroll
      for (int k = 0; k < key_steps; ++k)
        load_matrices<false>(kept_[k], SharedAddress{queries_ + SlabPlaces<F>::query(line, 2 * k + lane / 16)});
    } else {
      publish_to_async_proxy();
    }
  }

  /// Queues the scores of a stage.
  __device__ void begin_scores(unsigned stage) {
    const unsigned long long keys = dense_descriptor(stage, 0);
    unsigned of_group = queries_ + group_ * key_slabs(traits) * slab_bytes(group_queries());
    if constexpr (biases_in_shared(traits)) make_opaque(of_group);  // else descriptors are set aside between tiles
    const unsigned long long queries = dense_descriptor(of_group, 0);
    begin_multiplications();
    bool adds = false;
    visit_products<parts>([&](int own_part, int part) {
#pragma unroll
      for (int step = 0; step < key_steps; ++step) {
        const int a = own_part * key_steps + step, k = part * key_steps + step;
        const unsigned long long b = moved_descriptor(keys, k / 4 * SlabPlaces<F>::slab + k % 4 * 32);
        if constexpr (keeps) Products::template multiply<type, DenseLine::k>(flat_sums(scores_), kept_[a], b, adds);
        else
          Products::template multiply_shared<type, DenseLine::k, DenseLine::k>(
              flat_sums(scores_), moved_descriptor(queries, a / 4 * slab_bytes(group_queries()) + a % 4 * 32), b, adds);
        adds = true;
      }
    });
    commit_multiplications();
  }

  /// Queues the product of probabilities with a stage's values.
  __device__ void begin_values(unsigned stage) {
    constexpr int slab = SlabPlaces<F>::slab;
    const unsigned long long values = dense_descriptor(stage + key_slabs(traits) * slab, slab);
    begin_multiplications();
    bool adds = !promotes(traits);
    visit_products<parts>([&](int own_part, int part) {
#pragma unroll
      for (int j = 0; j < octets / 2; ++j) {
        WarpgroupMma<width>::template multiply<type, DenseLine::columns>(
            flat_sums(step_sums()), probabilities_[own_part][j],
            moved_descriptor(values, part * (width / 64) * slab + j * 2048), adds);
        adds = true;
      }
    });
    commit_multiplications();
  }

  /// The biases of scores that are on their way.
  __device__ void take_bias(const TilePlaces<F> (&places)[F::config.step_tiles], const StepBits& bits) {
    bias_.load(biases_, places, bits);
  }

  /// Makes exponentials of a stage's scores, once they are there: probabilities by `take`, without those not `kept`.
  /// between() runs where scores are masked, and their largest known.
  template <class Between>
  __device__ void exponentiate(const StepBits& bits, const StepBits& kept, unsigned stage, Between between) {
    settle_multiplications(scores_);
    if (negative_) {
#pragma unroll
      for (int i = 0; i < 4 * octets; ++i) scores_[i / 4][i % 4] = -scores_[i / 4][i % 4];
    }
    const SharedAddress exponents = {stage + SlabPlaces<F>::exponents};
    scales_.template scale<keys_of_step>(scores_, exponents);
    if constexpr (traits.biased) bias_.add(scores_, scales_.rates(), biases_);
    mask_scores<8>(scores_, bits[0]);
    if constexpr (F::config.step_tiles == 2) mask_scores<8, 8>(scores_, bits[1]);
    softmax_.template add<traits.terms == 0>(scores_, {scales_.rate(0), scales_.rate(1)}, factors_, between);
    scales_.template weigh<keys_of_step>(scores_, factors_, exponents + 4 * keys_of_step);
    drop<F, 8>(scores_, kept[0]);
    if constexpr (F::config.step_tiles == 2) drop<F, 8, 8>(scores_, kept[1]);
  }

  /// Once products of what was there before are done.
  __device__ void take() {
    take_step();
    scale_sums(sums_, factors_);
    pack_parts<F>(probabilities_, scores_);
  }

  /// Of so many keys.
  __device__ void finish(int keys) {
    take_step();
    softmax_.finish();
    scales_.finish(sums_, softmax_, keys);
  }
  __device__ unsigned number() const { return group_; }
  __device__ float (&sums())[width / 8][4] { return sums_; }
  __device__ const OnlineSoftmax& softmax() const { return softmax_; }

 private:
  __device__ float (&step_sums())[width / 8][4] {
    if constexpr (promotes(traits)) return step_sums_;
    else return sums_;
  }
  /// Once a step's product is done.
  __device__ void take_step() {
    settle_multiplications(step_sums());
    if constexpr (promotes(traits)) {
#pragma unroll
      for (int i = 0; i < width / 2; ++i) sums_[i / 4][i % 4] += step_sums_[i / 4][i % 4];
    }
  }

  const unsigned queries_;
  const unsigned group_;
  ScoreScales<F> scales_;
  const StepBias<F> bias_;
  const bool negative_;
  unsigned kept_[keeps ? key_steps : 1][4];
  float scores_[octets][4];
  float factors_[2];
  BiasWords<F> biases_;
  unsigned probabilities_[parts][octets / 2][4];
  float sums_[width / 8][4] = {};
  float step_sums_[promotes(traits) ? width / 8 : 1][4] = {};
  OnlineSoftmax softmax_;
};

}  // namespace vostok
