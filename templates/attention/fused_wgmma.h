// Attention at a mask in one kernel, by wgmma: as fused_mma, with warpgroups of 64 queries, and one more that gathers
// keys and values into a ring of stages (Shah et al.: FlashAttention-3, arXiv 2407.08608). PTX only.
//
// A warpgroup queues the scores of the next tile before the product of this one with values, so that tensor cores are
// busy while it makes exponentials.
#pragma once

#include "abi/fixed.h"
#include "abi/fused_wgmma.h"
#include "attention/attention_output.h"
#include "attention/attention_work.h"
#include "attention/dropout.h"
#include "attention/online_softmax.h"
#include "attention/score_bias.h"
#include "attention/score_scales.h"
#include "attention/soft_cap.h"
#include "attention/step_bias.h"
#include "attention/tile_copies.h"
#include "parts/dependent_launch.h"
#include "parts/ldmatrix.h"
#include "parts/mbarrier.h"
#include "parts/opaque.h"
#include "parts/register_pool.h"
#include "parts/ring_place.h"
#include "parts/shared.h"
#include "parts/warp.h"
#include "parts/wgmma.h"

namespace vostok {

template <class F>
struct FusedWgmmaShared {
  alignas(1024) unsigned char queries[query_bytes(F::traits, F::config)];
  unsigned char stages[F::config.stages][wgmma_stage_bytes(F::traits, F::config)];
  unsigned long long full[F::config.stages];
  unsigned long long empty[F::config.stages];
  unsigned long long queries_full;
  unsigned long long queries_empty;
  unsigned long long values_full[values_apart(F::traits) ? F::config.stages : 1];
  unsigned long long values_empty[values_apart(F::traits) ? F::config.stages : 1];
  unsigned biases[biases_in_shared(F::traits) ? bias_bytes(F::traits, F::config) / 4 : 1];
};

/// Lines in slabs, whose chunks are exchanged as wgmma's descriptors want it (parts/wgmma.h).
template <class F>
struct SlabPlaces {
  static __device__ unsigned in_slab(int line, int chunk) { return line * 128 + 16 * (chunk % 8 ^ line % 8); }
  static constexpr int slab = slab_bytes(step_keys(F::config));
  static __device__ unsigned query(int line, int chunk) {
    return (line / group_queries() * key_slabs(F::traits) + chunk / 8) * slab_bytes(group_queries()) +
           in_slab(line % group_queries(), chunk);
  }
  static __device__ unsigned key(int line, int chunk) { return chunk / 8 * slab + in_slab(line, chunk); }
  static __device__ unsigned value(int line, int chunk) {
    return (key_slabs(F::traits) + chunk / 8) * slab + in_slab(line, chunk);
  }
  static constexpr unsigned exponents = step_slab_bytes(F::traits, F::config);
  static __device__ unsigned key_exponent(int line) { return exponents + 4 * line; }
  static __device__ unsigned value_exponent(int line) { return key_exponent(step_keys(F::config) + line); }
};

/// A block's stages by their shared addresses.
template <class F>
struct AttentionStages {
  unsigned shared;

  __device__ unsigned stage(unsigned i) const {
    return shared + query_bytes(F::traits, F::config) + i * wgmma_stage_bytes(F::traits, F::config);
  }
  __device__ unsigned full(unsigned i) const { return stage(F::config.stages) + i * barrier_bytes(); }
  __device__ unsigned empty(unsigned i) const { return full(F::config.stages) + i * barrier_bytes(); }
  __device__ unsigned queries_full() const { return empty(F::config.stages); }
  __device__ unsigned queries_empty() const { return queries_full() + barrier_bytes(); }
  __device__ unsigned values_full(unsigned i) const {
    return values_apart(F::traits) ? queries_empty() + (1 + i) * barrier_bytes() : full(i);
  }
  __device__ unsigned values_empty(unsigned i) const {
    return values_apart(F::traits) ? values_full(F::config.stages) + i * barrier_bytes() : empty(i);
  }
  __device__ unsigned biases() const { return values_empty(F::config.stages); }
};

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
  __device__ void exponentiate(const StepBits& bits, const StepBits& kept, unsigned stage) {
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
    softmax_.add(scores_, {scales_.rate(0), scales_.rate(1)}, factors_);
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

/// Where a thread is among a block's stages, and the parity of its queries.
template <class F>
struct AttentionPlace {
  RingPlace<F::config.stages> ring;
  unsigned queries = 0;
};

/// visit(work) for each of this block's: one, or where blocks are persistent one of each gridDim.x.
template <class F, class Visit>
__device__ inline void visit_works(const FusedAttentionArgs& args, Visit visit) {
  if constexpr (F::config.persistent) {
    const long long of_head = static_cast<long long>(args.tiles.block_count) * F::config.slices;
#pragma unroll 1
    for (long long i = blockIdx.x; i < of_head * args.heads; i += gridDim.x)
      visit(AttentionWork<F>::of(args, i / of_head, static_cast<unsigned>(i % of_head)));
  } else {
    const auto work = AttentionWork<F>::of_block(args);
    if (work.head < args.heads) visit(work);
  }
}

template <class F>
__device__ inline void copy_tiles(const FusedAttentionArgs& args, const AttentionWork<F>& work,
                                  const AttentionStages<F>& stages, AttentionPlace<F>& place, unsigned thread) {
  TileCopies<F, SlabPlaces<F>, 128, F::config.step_tiles> copies(args, tile_head<F>(args, work.head), work.first_tile,
                                                                 work.end_tile, thread);
  if (!copies.has_next()) return;  // then there may be no queries either
  if constexpr (F::config.persistent) wait_barrier(stages.queries_empty(), place.queries ^ 1);
  copy_queries<F, SlabPlaces<F>, 128>(args, work.head, work.first_row, {stages.shared}, thread);
  arrive_after_copies(stages.queries_full());
  place.queries ^= 1;
#pragma unroll 1
  while (copies.has_next()) {
    wait_barrier(stages.empty(place.ring.stage), place.ring.parity ^ 1);
    if constexpr (values_apart(F::traits)) {
      copies.copy_keys({stages.stage(place.ring.stage)});
      arrive_after_copies(stages.full(place.ring.stage));
      wait_barrier(stages.values_empty(place.ring.stage), place.ring.parity ^ 1);
      copies.copy_values({stages.stage(place.ring.stage)});
    } else {
      copies.copy({stages.stage(place.ring.stage)});
    }
    arrive_after_copies(stages.values_full(place.ring.stage));
    place.ring.advance();
  }
}

/// The tiles of a warpgroup, whose sums and statistics are complete on return.
template <class F>
__device__ inline void attend(const FusedAttentionArgs& args, const AttentionWork<F>& work,
                              const AttentionStages<F>& stages, AttentionPlace<F>& place, unsigned strip,
                              AttentionGroup<F>& group) {
  if (work.first_tile == work.end_tile) return;
  constexpr int step = F::config.step_tiles;
  RingPlace<F::config.stages>& ring = place.ring;
  unsigned bits[step], next_bits[step], kept[step];
  const Dropout<F> dropout(args, work.head);
  const long long first_row = work.first_row + strip * strip_queries();
  load_tile_bits<F>(bits, args, work, work.first_tile, strip);
  TilePlaces<F> places[step];
  load_tile_places<F>(places, args, work.first_tile, work.end_tile, strip);
  constexpr bool apart = values_apart(F::traits);
  const auto wait_full = [&] {
    wait_barrier(stages.full(ring.stage), ring.parity);
    publish_to_async_proxy();
  };
  const auto begin_values = [&](const RingPlace<F::config.stages>& of) {
    if constexpr (apart) {
      wait_barrier(stages.values_full(of.stage), of.parity);
      publish_to_async_proxy();
    }
    group.begin_values(stages.stage(of.stage));
  };
  const auto exponentiate = [&] {
    group.exponentiate(bits, kept, stages.stage(ring.stage));
    if constexpr (apart) arrive(stages.empty(ring.stage));  // every lane, of what it read itself
  };
  const auto release_values = [&](unsigned stage) {
    if ((F::traits.terms > 0 && !apart) || threadIdx.x % 32 == 0) arrive(stages.values_empty(stage));
  };
  wait_barrier(stages.queries_full(), place.queries);
  place.queries ^= 1;
  group.take_queries();
  wait_full();
  group.begin_scores(stages.stage(ring.stage));
  load_tile_bits<F>(next_bits, args, work, work.first_tile + step, strip);
  group.take_bias(places, bits);
  load_tile_places<F>(places, args, work.first_tile + step, work.end_tile, strip);
  dropout.find_kept(kept, bits, work.first_tile, first_row);
  wait_multiplications();
  exponentiate();
  group.take();
#pragma unroll 1
  for (int tile = work.first_tile + step; tile < work.end_tile; tile += step) {
    const RingPlace<F::config.stages> before = ring;
    ring.advance();
    wait_full();
    group.begin_scores(stages.stage(ring.stage));
    begin_values(before);
#pragma unroll
    for (int t = 0; t < step; ++t) bits[t] = next_bits[t];
    load_tile_bits<F>(next_bits, args, work, tile + step, strip);
    group.take_bias(places, bits);
    load_tile_places<F>(places, args, tile + step, work.end_tile, strip);
    dropout.find_kept(kept, bits, tile, first_row);
    wait_multiplications<1>();
    exponentiate();
    wait_multiplications();
    release_values(before.stage);
    group.take();
  }
  if constexpr (F::config.persistent) arrive(stages.queries_empty());  // every lane for what it may have read
  begin_values(ring);
  wait_multiplications();
  if constexpr (F::config.persistent) {
    release_values(ring.stage);
    ring.advance();
  }
  group.finish((work.end_tile - work.first_tile) * tile_keys());
}

template <class F>
__global__ void __launch_bounds__(threads(F::config), F::config.min_blocks)
    fused_wgmma(const __grid_constant__ FusedAttentionArgs args) {
  constexpr auto config = F::config;
  static_assert(keeps_rules<F>());
  static_assert(sizeof(FusedWgmmaShared<F>) <= shared_bytes(F::traits, config), "the host gives less shared memory");
  const AttentionStages<F> stages = {shared_address(&dynamic_shared<FusedWgmmaShared<F>>()).at};
  if (threadIdx.x == 0) {
#pragma unroll
    for (unsigned i = 0; i < config.stages; ++i) {
      initialise_barrier(stages.full(i), 128);
      initialise_barrier(stages.empty(i), (F::traits.terms > 0 ? 128 : 4) * config.groups);
      if constexpr (values_apart(F::traits)) {
        initialise_barrier(stages.values_full(i), 128);
        initialise_barrier(stages.values_empty(i), 4 * config.groups);
      }
    }
    initialise_barrier(stages.queries_full(), 128);
    if constexpr (config.persistent) initialise_barrier(stages.queries_empty(), 128 * config.groups);
    publish_barriers();
  }
  __syncthreads();
  follow_previous_launch();

  const unsigned warp = warp_of_block();
  AttentionPlace<F> place;
  if (warp >= 4 * config.groups) {
    if constexpr (exchanges_registers(config)) give_registers<kept_registers(config)>();
    visit_works<F>(args, [&](const AttentionWork<F>& work) {
      copy_tiles<F>(args, work, stages, place, threadIdx.x - 128 * config.groups);
    });
  } else {
    if constexpr (exchanges_registers(config)) take_registers<gained_registers(config)>();
    visit_works<F>(args, [&](const AttentionWork<F>& work) {
      AttentionGroup<F> group(args, work, stages, warp / 4, warp);
      attend<F>(args, work, stages, place, warp, group);
      const StripOutput<F> output(args, work.head, work.first_row + warp * strip_queries());
      if constexpr (F::config.slices > 1)
        output.store_partial(group.sums(), group.softmax(), work.slice, F::config.slices);
      else output.store(group.sums(), group.softmax());
    });
  }
}

}  // namespace vostok
