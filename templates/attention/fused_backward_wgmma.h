// The gradients of attention at a mask, by wgmma: as fused_backward, with warpgroups of 64 own lines, and one more that
// gathers tiles into a ring of stages. PTX only.
//
// Own lines and a tile's meet in shared memory: scores, and gradients of probabilities. Weights made of them stay in
// registers, and are multiplied by the same lines of the tile, read the other way round.
#pragma once

#include "abi/fixed.h"
#include "abi/fused_backward_wgmma.h"
#include "attention/attention_work.h"
#include "attention/backward_products.h"
#include "attention/backward_ring.h"
#include "attention/backward_slabs.h"
#include "attention/backward_strip.h"
#include "attention/dropout.h"
#include "parts/dependent_launch.h"
#include "parts/mbarrier.h"
#include "parts/register_pool.h"
#include "parts/ring_place.h"
#include "parts/shared.h"
#include "parts/warp.h"
#include "parts/wgmma.h"

namespace vostok {

template <class F>
struct FusedBackwardWgmmaShared {
  alignas(1024) unsigned char own[own_bytes(F::traits, F::config)];
  unsigned char stages[F::config.stages][tile_line_bytes(F::traits)];
  unsigned char numbers[F::config.stages][tile_number_bytes()];
  unsigned long long full[F::config.stages];
  unsigned long long empty[F::config.stages];
  unsigned long long own_full;
};

/// A block's shared memory by its addresses.
template <class F>
struct BackwardStages {
  static constexpr auto config = F::config;
  unsigned shared;

  __device__ unsigned stage(unsigned i) const {
    return shared + own_bytes(F::traits, config) + i * tile_line_bytes(F::traits);
  }
  __device__ SharedAddress numbers(unsigned i) const { return {stage(config.stages) + i * tile_number_bytes()}; }
  __device__ unsigned full(unsigned i) const { return numbers(config.stages).at + i * barrier_bytes(); }
  __device__ unsigned empty(unsigned i) const { return full(config.stages) + i * barrier_bytes(); }
  __device__ unsigned own_full() const { return empty(config.stages); }
};

/// What a warpgroup computes.
template <class F>
class BackwardGroup {
  static constexpr auto traits = F::traits;
  static constexpr BackwardPart part = traits.part;
  static constexpr int octets = tile_keys() / 8;
  static constexpr int key_width = part == BackwardPart::rows ? 0 : multiplied_width(traits.key_size);
  static constexpr int value_width = part == BackwardPart::by_key ? multiplied_width(traits.value_size) : 0;
  using Slabs = BackwardSlabs<F>;

 public:
  /// `own`: shared address of the group's own lines.
  __device__ BackwardGroup(const FusedBackwardArgs& args, long long head, long long first_row, unsigned own)
      : strip_(args, head, first_row), own_(own), negative_(ScoreRates<F>::flips_scores(args.walk)) {}

  /// Once the launch before has stored them.
  __device__ void take_numbers() { strip_.take_numbers(); }

  __device__ void take_turn(int turn) { strip_.take_turn(turn); }

  /// A tile: makes of scores and gradients of probabilities what is multiplied next, which is then on its way, or adds
  /// them to the numbers of own queries. `meanwhile` runs once both are queued, and returns which of the tile's bits'
  /// probabilities are kept.
  template <class Meanwhile>
  __device__ void add(unsigned stage, SharedAddress numbers, unsigned bits, const TilePlaces<F>& places,
                      Meanwhile meanwhile) {
    float scores[octets][4], gradients[octets][4];
    [[maybe_unused]] unsigned biases[octets][bias_words<F>()];
    multiply_own_lines<F, traits.key_size>(scores, own_, Slabs::own_key_part, stage, Slabs::key_part);
    multiply_own_lines<F, traits.value_size>(gradients, own_ + Slabs::own_values, Slabs::own_value_part,
                                             stage + Slabs::values, Slabs::value_part);
    strip_.load_bias(biases, places, 0, bits);
    const unsigned kept = meanwhile();
    wait_multiplications<1>();
    settle_multiplications(scores);
    if (negative_) {
#pragma unroll
      for (int i = 0; i < 4 * octets; ++i) scores[i / 4][i % 4] = -scores[i / 4][i % 4];
    }
    if constexpr (part == BackwardPart::rows) {
      wait_multiplications();
      settle_multiplications(gradients);
      strip_.drop_gradients(gradients, kept);
      strip_.add_rows(scores, gradients, bits, biases, {});
    } else {
      if constexpr (traits.capped || traits.biased) {
        wait_multiplications();
        settle_multiplications(gradients);
        strip_.drop_gradients(gradients, kept);
      }
      if constexpr (traits.capped && !traits.biased) strip_.cap(scores, gradients, numbers);
      if constexpr (traits.biased) strip_.make_at_once(scores, gradients, bits, numbers, biases, places, 0, {});
      else strip_.make_probabilities(scores, bits, numbers);
      wait_multiplications();
      settle_multiplications(gradients);
      if constexpr (!traits.capped && !traits.biased) strip_.drop_gradients(gradients, kept);
      settle_sums();
      if constexpr (part == BackwardPart::by_key) {
        pack_kept(scores, kept);
        multiply_weighted_lines<F, value_width>(value_sums_, true, probabilities_, stage + Slabs::values,
                                                Slabs::value_part);
      }
      if constexpr (!traits.biased) strip_.make_gradients(gradients, scores, bits, numbers);
      pack_parts<F>(weights_, gradients);
      multiply_weighted_lines<F, key_width>(key_sums_, true, weights_, stage, Slabs::key_part);
    }
  }

  __device__ void store() {
    wait_multiplications();
    settle_sums();
    if constexpr (part == BackwardPart::rows) strip_.store_rows();
    else strip_.store_gradients(key_sums_, value_sums_);
  }

 private:
  __device__ void pack_kept(const float (&probabilities)[octets][4], unsigned kept) {
    float weights[octets][4];
#pragma unroll
    for (int i = 0; i < 4 * octets; ++i) weights[i / 4][i % 4] = probabilities[i / 4][i % 4];
    drop<F, octets>(weights, kept);
    pack_parts<F>(probabilities_, weights);
  }

  __device__ void settle_sums() {
    if constexpr (part != BackwardPart::rows) settle_multiplications(key_sums_);
    if constexpr (part == BackwardPart::by_key) settle_multiplications(value_sums_);
  }

  BackwardStrip<F> strip_;
  const unsigned own_;
  const bool negative_;
  unsigned probabilities_[1][octets / 2][4];
  unsigned weights_[1][octets / 2][4];
  float key_sums_[key_width > 0 ? key_width / 8 : 1][4] = {};
  float value_sums_[value_width > 0 ? value_width / 8 : 1][4] = {};
};

/// The tiles of a warpgroup.
template <class F>
__device__ inline void walk_tiles(const FusedBackwardArgs& args, const AttentionWork<F>& work,
                                  const BackwardStages<F>& stages, unsigned strip, BackwardGroup<F>& group) {
  if (work.first_tile == work.end_tile) return;
  const FusedAttentionArgs& walk = args.walk;
  const auto release = [&](unsigned stage) { arrive(stages.empty(stage)); };  // every lane for what it has read
  unsigned bits[1];
  load_tile_bits<F>(bits, walk, work, work.first_tile, strip);
  group.take_numbers();
  wait_barrier(stages.own_full(), 0);
  RingPlace<F::config.stages> place;
  unsigned before = 0;
#pragma unroll 1
  for (int turn = 0; turn < turns<F>(walk); ++turn) {
    group.take_turn(turn);
    const Dropout<F> dropout(walk, query_head<F>(walk, work.head, turn));
#pragma unroll 1
    for (int tile = work.first_tile; tile < work.end_tile; ++tile) {
      TilePlaces<F> places[1];  // not those of the next tile beside: registers are few
      load_places<F>(places, walk, tile, work.end_tile, strip);
      wait_barrier(stages.full(place.stage), place.parity);
      publish_to_async_proxy();
      const unsigned now = bits[0];
      group.add(stages.stage(place.stage), stages.numbers(place.stage), now, places[0], [&] {
        load_tile_bits<F>(bits, walk, work, work.behind(tile), strip);
        const unsigned kept = dropout.find_kept(now, tile, work.first_row + strip * strip_queries());
        if (queues_ahead(F::traits) && (tile > work.first_tile || turn > 0)) {
          wait_multiplications<2>();
          release(before);
        }
        return kept;
      });
      if constexpr (!queues_ahead(F::traits)) {
        wait_multiplications();
        release(place.stage);
      }
      before = place.stage;
      place.advance();
    }
  }
}

template <class F>
__global__ void __launch_bounds__(threads(F::config), F::config.min_blocks)
    fused_backward_wgmma(const __grid_constant__ FusedBackwardArgs args) {
  constexpr auto config = F::config;
  static_assert(keeps_rules<F>());
  static_assert(sizeof(FusedBackwardWgmmaShared<F>) <= shared_bytes(F::traits, config),
                "the host gives less shared memory");
  const auto work = AttentionWork<F>::of_block(args.walk);
  if (work.head >= args.walk.heads) return;
  const BackwardStages<F> stages = {shared_address(&dynamic_shared<FusedBackwardWgmmaShared<F>>()).at};
  if (threadIdx.x == 0) {
#pragma unroll
    for (unsigned i = 0; i < config.stages; ++i) {
      initialise_barrier(stages.full(i), 128);
      initialise_barrier(stages.empty(i), 128 * config.groups);
    }
    initialise_barrier(stages.own_full(), 128);
    publish_barriers();
  }
  __syncthreads();
  follow_previous_launch();

  constexpr bool exchanges = exchanges_registers(config.groups, config.min_blocks);
  const unsigned warp = warp_of_block();
  if (warp >= 4 * config.groups) {
    if constexpr (exchanges) give_registers<backward_kept_registers(F::traits)>();
    copy_backward_tiles<F, BackwardSlabs<F>>(args, work, stages, threadIdx.x - 128 * config.groups);
  } else {
    if constexpr (exchanges) take_registers<gained_registers(F::traits, config)>();
    BackwardGroup<F> group(args, work.head, work.first_row + warp * strip_queries(),
                           stages.shared + warp / 4 * group_own_bytes(F::traits));
    walk_tiles<F>(args, work, stages, warp, group);
    group.store();
  }
}

}  // namespace vostok
