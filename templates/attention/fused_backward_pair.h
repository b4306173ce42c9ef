// The gradients of f32 attention at a mask, by wgmma of 16-bit terms: as fused_backward_wgmma, where a pair of
// warpgroups shares 64 own lines. PTX only.
//
// One makes probabilities, and by key their products with values; the other the gradients of scores, and their products
// with keys. Each has the sums of one operand alone, and products of one go on beside what the other computes.
// Probabilities are handed over in shared memory, a lane to the lane that has the same scores.
#pragma once

#include "abi/fixed.h"
#include "abi/fused_backward_pair.h"
#include "attention/attention_work.h"
#include "attention/backward_products.h"
#include "attention/backward_ring.h"
#include "attention/backward_strip.h"
#include "attention/dropout.h"
#include "attention/handover.h"
#include "attention/score_scales.h"
#include "parts/dependent_launch.h"
#include "parts/mbarrier.h"
#include "parts/register_pool.h"
#include "parts/ring_place.h"
#include "parts/shared.h"
#include "parts/warp.h"

namespace vostok {

template <class F>
struct FusedBackwardPairShared {
  alignas(1024) unsigned char own[group_own_bytes(F::traits)];
  unsigned char stages[F::config.stages][pair_stage_bytes(F::traits)];
  unsigned char handed[handed_bytes(F::traits)];
  unsigned long long full[F::config.stages];
  unsigned long long empty[F::config.stages];
  unsigned long long own_full;
  unsigned long long handed_full;
  unsigned long long handed_empty;
};

template <class F>
struct PairPlaces : BackwardSlabs<F> {
  static constexpr int numbers = tile_line_bytes(F::traits), exponents = numbers + 8 * tile_keys();

  static __device__ unsigned key_exponent(int line) { return exponents + 4 * line; }
  static __device__ unsigned value_exponent(int line) { return key_exponent(tile_keys() + line); }
};

/// A block's shared memory by its addresses.
template <class F>
struct PairStages {
  unsigned shared;

  __device__ unsigned stage(unsigned i) const {
    return shared + group_own_bytes(F::traits) + i * pair_stage_bytes(F::traits);
  }
  __device__ SharedAddress numbers(unsigned i) const { return {stage(i) + PairPlaces<F>::numbers}; }
  __device__ TilePowers powers(unsigned i) const {
    return {{stage(i) + PairPlaces<F>::key_exponent(0)}, {stage(i) + PairPlaces<F>::value_exponent(0)}};
  }
  __device__ unsigned handed() const { return stage(F::config.stages); }
  __device__ unsigned full(unsigned i) const { return handed() + handed_bytes(F::traits) + i * barrier_bytes(); }
  __device__ unsigned empty(unsigned i) const { return full(F::config.stages) + i * barrier_bytes(); }
  __device__ unsigned own_full() const { return empty(F::config.stages); }
  __device__ unsigned handed_full() const { return own_full() + barrier_bytes(); }
  __device__ unsigned handed_empty() const { return handed_full() + barrier_bytes(); }
};

/// Scores of a tile, or what becomes of them.
using TileScores = float[tile_keys() / 8][4];

/// What both warpgroups of a pair have.
template <class F>
class PairGroup {
 protected:
  static constexpr auto traits = F::traits;
  static constexpr BackwardPart part = traits.part;
  static constexpr int octets = tile_keys() / 8;
  using Slabs = BackwardSlabs<F>;

 public:
  using Biases = unsigned[octets][bias_words<F>()];

  __device__ PairGroup(const FusedBackwardArgs& args, const AttentionWork<F>& work, const PairStages<F>& stages,
                       unsigned strip)
      : strip_(args, work.head, work.first_row + strip * strip_queries()),
        handover_(stages.handed(), stages.handed_full(), stages.handed_empty()),
        stages_(stages) {}

  /// Once the launch before has stored them.
  __device__ void take_numbers() { strip_.take_numbers(); }

  __device__ void take_turn(int turn) { strip_.take_turn(turn); }

 protected:
  BackwardStrip<F> strip_;
  Handover<F> handover_;
  const PairStages<F> stages_;
};

/// Makes probabilities, and by key the gradient by values.
template <class F>
class ProbabilityGroup : public PairGroup<F> {
  using Base = PairGroup<F>;
  using Base::handover_, Base::octets, Base::part, Base::stages_, Base::strip_, Base::traits;
  using typename Base::Slabs;

 public:
  using Base::Base;
  using typename Base::Biases;
  static constexpr bool weighs = part == BackwardPart::by_key, drops = weighs;

  /// Queues a stage's scores.
  __device__ void begin(TileScores& scores, unsigned stage) {
    multiply_own_lines<F, traits.key_size>(scores, stages_.shared, Slabs::own_key_part, stages_.stage(stage),
                                           Slabs::key_part);
  }
  __device__ void load_bias(Biases& biases, const TilePlaces<F>& places, unsigned bits) const {
    strip_.load_bias(biases, places, 0, bits);
  }

  /// Makes probabilities of scores, hands them over, and leaves those that are kept.
  __device__ void make(TileScores& scores, unsigned stage, unsigned bits, const Biases& biases, const TilePlaces<F>&,
                       unsigned kept) {
    const SharedAddress numbers = stages_.numbers(stage);
    settle_multiplications(scores);
    strip_.scales().size_scores(scores, stages_.powers(stage));
    if constexpr (part == BackwardPart::rows) {
      float factors[2];
      strip_.exponentiate(scores, bits, biases, factors);
      handover_.begin();
      handover_.put(scores, 0);
      handover_.put_pair(factors);
    } else {
      TileScores slopes;
#pragma unroll
      for (int o = 0; o < octets; ++o)
        strip_.make_octet_probabilities(scores[o], slopes[o], o, bits, strip_.column_numbers(numbers, o), biases[o]);
      handover_.begin();
      handover_.put(scores, 0);
      if constexpr (traits.capped) handover_.put(slopes, 1);
    }
    handover_.end();
    drop<F, octets>(scores, kept);
  }

  /// Adds their products with a stage's lines.
  __device__ void add(TileScores& probabilities, unsigned stage) {
    sums_.add(strip_.scales().values(), probabilities, stages_.stage(stage) + Slabs::values, Slabs::value_part,
              stages_.powers(stage).values);
  }

  /// What the other group stores with its own goes there.
  __device__ void store() {
    if constexpr (part == BackwardPart::rows) {
      float origins[2], totals[2];
      strip_.find_totals(origins, totals);
      handover_.give({origins[0], origins[1], totals[0], totals[1]});
    } else if constexpr (part == BackwardPart::by_key) {
      bool finite[2] = {true, true};
      strip_.store_value_gradient(sums_.sums(), finite);
      handover_.give({finite[0] ? 1.0F : 0.0F, finite[1] ? 1.0F : 0.0F, 0.0F, 0.0F});
    }
  }

 private:
  WeightedSums<F, weighs ? multiplied_width(traits.value_size) : 0> sums_;
};

/// Makes the gradients of scores, and by them of own lines.
template <class F>
class GradientGroup : public PairGroup<F> {
  using Base = PairGroup<F>;
  using Base::handover_, Base::octets, Base::part, Base::stages_, Base::strip_, Base::traits;
  using typename Base::Slabs;

 public:
  using Base::Base;
  using typename Base::Biases;
  static constexpr bool weighs = part != BackwardPart::rows, drops = true;

  /// Queues a stage's gradients of probabilities.
  __device__ void begin(TileScores& gradients, unsigned stage) {
    multiply_own_lines<F, traits.value_size>(gradients, stages_.shared + Slabs::own_values, Slabs::own_value_part,
                                             stages_.stage(stage) + Slabs::values, Slabs::value_part);
  }
  __device__ void load_bias(Biases&, const TilePlaces<F>&, unsigned) const {}

  /// Makes gradients of scores, by probabilities that are handed over.
  __device__ void make(TileScores& gradients, unsigned stage, unsigned bits, const Biases&, const TilePlaces<F>& places,
                       unsigned kept) {
    const SharedAddress numbers = stages_.numbers(stage);
    const TilePowers powers = stages_.powers(stage);
    settle_multiplications(gradients);
    strip_.scales().template note_scores<tile_keys()>(powers, numbers);
    strip_.scales().size_gradients(gradients, powers);
    strip_.drop_gradients(gradients, kept);
    handover_.wait();
    if constexpr (part == BackwardPart::rows) {
      TileScores exponentials;
      float factors[2];
#pragma unroll
      for (int o = 0; o < octets; ++o) handover_.take(exponentials[o], o, 0);
      handover_.take_pair(factors);
      handover_.release();
      strip_.add_weighted(exponentials, gradients, bits, factors, powers);
    } else {
#pragma unroll
      for (int o = 0; o < octets; ++o) {
        float probabilities[4], slopes[4] = {1.0F, 1.0F, 1.0F, 1.0F};
        handover_.take(probabilities, o, 0);
        if constexpr (traits.capped) handover_.take(slopes, o, 1);
        strip_.make_octet_gradients(gradients[o], probabilities, slopes, o, bits, strip_.column_numbers(numbers, o),
                                    places, 0, powers);
      }
      handover_.release();
    }
  }

  /// Adds their products with a stage's lines.
  __device__ void add(TileScores& gradients, unsigned stage) {
    sums_.add(strip_.scales().keys(), gradients, stages_.stage(stage), Slabs::key_part, stages_.powers(stage).keys);
  }

  __device__ void store() {
    float others[4];
    if constexpr (part == BackwardPart::rows) {
      handover_.receive(others);
      strip_.store_rows({others[0], others[1]}, {others[2], others[3]});
    } else {
      bool finite[2] = {true, true};
      strip_.store_key_gradient(sums_.sums(), finite);
      if constexpr (part == BackwardPart::by_key) {
        handover_.receive(others);  // then the other group's stores are done as well
#pragma unroll
        for (int half = 0; half < 2; ++half) finite[half] = finite[half] && others[half] != 0.0F;
      }
      strip_.finish_gradients(finite);
    }
  }

 private:
  WeightedSums<F, weighs ? multiplied_width(traits.key_size) : 0> sums_;
};

/// The tiles of a warpgroup.
template <class F, class Group>
__device__ inline void walk_pair_tiles(const FusedBackwardArgs& args, const AttentionWork<F>& work,
                                       const PairStages<F>& stages, unsigned strip, Group& group) {
  const FusedAttentionArgs& walk = args.walk;
  unsigned bits[1];
  load_tile_bits<F>(bits, walk, work, work.first_tile, strip);
  wait_barrier(stages.own_full(), 0);
  RingPlace<F::config.stages> place;
#pragma unroll 1
  for (int turn = 0; turn < turns<F>(walk); ++turn) {
    group.take_turn(turn);
    const Dropout<F> dropout(walk, query_head<F>(walk, work.head, turn));
#pragma unroll 1
    for (int tile = work.first_tile; tile < work.end_tile; ++tile) {
      TilePlaces<F> places[1];
      load_places<F>(places, walk, tile, work.end_tile, strip);
      wait_barrier(stages.full(place.stage), place.parity);
      publish_to_async_proxy();
      TileScores scores;
      [[maybe_unused]] typename Group::Biases biases;
      group.begin(scores, place.stage);
      const unsigned now = bits[0];
      group.load_bias(biases, places[0], now);
      load_tile_bits<F>(bits, walk, work, work.behind(tile), strip);
      const unsigned kept = Group::drops ? dropout.find_kept(now, tile, work.first_row + strip * strip_queries()) : 0U;
      wait_multiplications();
      group.make(scores, place.stage, now, biases, places[0], kept);
      if constexpr (Group::weighs) group.add(scores, place.stage);
      arrive(stages.empty(place.stage));  // every lane for what it has read
      place.advance();
    }
  }
}

/// All of a warpgroup's part.
template <class F, class Group>
__device__ inline void make_gradients(const FusedBackwardArgs& args, const AttentionWork<F>& work,
                                      const PairStages<F>& stages, unsigned strip) {
  Group group(args, work, stages, strip);
  group.take_numbers();
  if (work.first_tile < work.end_tile) walk_pair_tiles<F>(args, work, stages, strip, group);
  group.store();
}

template <class F>
__global__ void __launch_bounds__(threads(F::config), 1)
    fused_backward_pair(const __grid_constant__ FusedBackwardArgs args) {
  constexpr auto config = F::config;
  static_assert(keeps_rules<F>());
  static_assert(sizeof(FusedBackwardPairShared<F>) <= shared_bytes(F::traits, config), "the host gives less");
  const auto work = AttentionWork<F>::of_block(args.walk);
  if (work.head >= args.walk.heads) return;
  const PairStages<F> stages = {shared_address(&dynamic_shared<FusedBackwardPairShared<F>>()).at};
  if (threadIdx.x == 0) {
#pragma unroll
    for (unsigned i = 0; i < config.stages; ++i) {
      initialise_barrier(stages.full(i), 128);
      initialise_barrier(stages.empty(i), 256);
    }
    initialise_barrier(stages.own_full(), 128);
    initialise_barrier(stages.handed_full(), 128);
    initialise_barrier(stages.handed_empty(), 128);
    publish_barriers();
  }
  __syncthreads();
  follow_previous_launch();

  const unsigned warp = warp_of_block();
  if (warp >= 8) {
    give_registers<pair_kept_registers()>();
    copy_backward_tiles<F, PairPlaces<F>>(args, work, stages, threadIdx.x - 256);
  } else {
    take_registers<pair_gained_registers()>();
    if (warp < 4) make_gradients<F, ProbabilityGroup<F>>(args, work, stages, warp);
    else make_gradients<F, GradientGroup<F>>(args, work, stages, warp - 4);
  }
}

}  // namespace vostok
