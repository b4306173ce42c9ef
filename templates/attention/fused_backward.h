// The gradients of attention at a mask, by mma.sync: scores and probabilities are made once more, tile by tile, and
// never reach memory (Dao: FlashAttention-2, arXiv 2307.08691).
//
// All three kernels (abi/fused_backward.h) have the products of a block's own lines with those of a tile: scores, and
// the gradients of probabilities. By the transposed mask the same products are those of keys with queries. Nothing is
// added up by atomics: each gradient's line is one block's.
#pragma once

#include "abi/fixed.h"
#include "abi/fused_backward.h"
#include "attention/attention_work.h"
#include "attention/backward_strip.h"
#include "attention/dropout.h"
#include "attention/mma_products.h"
#include "attention/tile_copies.h"
#include "parts/dependent_launch.h"
#include "parts/ring_place.h"
#include "parts/shared.h"

namespace vostok {

/// A stage: lines of key_size, lines of value_size, two numbers for each.
template <class F>
struct BackwardPlaces {
  static constexpr int key_line = line_bytes(F::traits.key_size), value_line = line_bytes(F::traits.value_size);
  static constexpr int values = tile_keys() * key_line, numbers = values + tile_keys() * value_line;

  static __device__ unsigned key(int line, int chunk) { return line * key_line + 16 * chunk; }
  static __device__ unsigned value(int line, int chunk) { return values + line * value_line + 16 * chunk; }
};

template <class F>
struct FusedBackwardShared {
  alignas(16) unsigned char bytes[shared_bytes(F::traits, F::config)];
};

/// What a warp makes of its strip of 16 own lines.
template <class F>
class BackwardWarp {
  static constexpr auto traits = F::traits;
  static constexpr auto config = F::config;
  static constexpr BackwardPart part = traits.part;
  static constexpr int octets = config.step_keys / 8;
  using Places = BackwardPlaces<F>;
  static constexpr int key_line = Places::key_line, value_line = Places::value_line;

 public:
  /// `own`: lines of key_size of the block, and behind them those of value_size.
  __device__ BackwardWarp(const FusedBackwardArgs& args, long long head, long long first_row, SharedAddress own)
      : strip_(args, head, first_row),
        keys_(own + own_fragment(threadIdx.x / 32 * strip_queries(), key_line)),
        values_(own +
                (block_queries(config) * key_line + own_fragment(threadIdx.x / 32 * strip_queries(), value_line))),
        sign_(ScoreRates<F>::flips_scores(args.walk) ? 0x80008000U : 0) {}

  /// Once the launch before has stored them.
  __device__ void take_numbers() { strip_.take_numbers(); }

  __device__ void take_turn(int turn) { strip_.take_turn(turn); }

  /// A tile, and which of its bits' probabilities are kept.
  __device__ void add(SharedAddress stage, const unsigned (&bits)[1], const TilePlaces<F>& places, unsigned kept) {
#pragma unroll
    for (int p = 0; p < tile_keys() / config.step_keys; ++p) {
      unsigned of_part[1];
      if (part_bits<octets>(of_part, bits, p))
        add_part(stage, p * config.step_keys, of_part[0], places, kept >> 4 * octets * p);
    }
  }

  __device__ void store() {
    if constexpr (part == BackwardPart::rows) strip_.store_rows();
    else strip_.store_gradients(key_sums_[0], value_sums_[0]);
  }

 private:
  __device__ void add_part(SharedAddress stage, int first, unsigned bits, const TilePlaces<F>& places, unsigned kept) {
    [[maybe_unused]] unsigned biases[octets][2];
    strip_.load_bias(biases, places, first / 8, bits);
    float scores[1][octets][4] = {}, gradients[1][octets][4] = {};
    multiply_lines<traits.element, traits.key_size>(
        scores, stage + column_fragment(first, key_line), key_line,
        [&](unsigned(&own)[1][4], int k) { load_strips(own, keys_, key_line, k, sign_); });
    multiply_lines<traits.element, traits.value_size>(
        gradients, stage + (Places::values + column_fragment(first, value_line)), value_line,
        [&](unsigned(&own)[1][4], int k) { load_strips(own, values_, value_line, k, 0); });
    strip_.drop_gradients(gradients[0], kept);
    if constexpr (part == BackwardPart::rows) {
      strip_.add_rows(scores[0], gradients[0], bits, biases);
    } else {
      const SharedAddress numbers = stage + (Places::numbers + 8 * first);
      if constexpr (traits.biased) {
        strip_.make_biased(scores[0], gradients[0], bits, numbers, biases, places, first / 8);
      } else {
        if constexpr (traits.capped) strip_.cap(scores[0], gradients[0], numbers);
        strip_.make_probabilities(scores[0], bits, numbers);
        strip_.make_gradients(gradients[0], scores[0], bits, numbers);
      }
      unsigned weights[1][octets / 2][4];
      pack_weights<traits.element>(weights[0], gradients[0]);
      multiply_weights<traits.element>(key_sums_, weights, stage + row_fragment(first, key_line), key_line);
      if constexpr (part == BackwardPart::by_key) {
        drop<F, octets>(scores[0], kept);
        pack_weights<traits.element>(weights[0], scores[0]);
        multiply_weights<traits.element>(value_sums_, weights,
                                         stage + (Places::values + row_fragment(first, value_line)), value_line);
      }
    }
  }

  BackwardStrip<F> strip_;
  const SharedAddress keys_;
  const SharedAddress values_;
  const unsigned sign_;
  float key_sums_[1][traits.key_size / 8][4] = {};
  float value_sums_[1][traits.value_size / 8][4] = {};
};

/// A block's own lines: of key_size, and behind them of value_size.
template <class F>
__device__ inline void copy_block(const FusedBackwardArgs& args, const AttentionWork<F>& work, SharedAddress own) {
  constexpr auto traits = F::traits;
  constexpr int block_threads = threads(F::config);
  using Places = BackwardPlaces<F>;
  const FusedAttentionArgs& walk = args.walk;
  copy_own_lines<F, traits.key_size, block_threads>(
      {walk.query, walk.query_leading, walk.query_stride}, walk.key_size, work.head, work.first_row, walk.rows,
      threadIdx.x, [&](int line, int chunk) { return own + (line * Places::key_line + 16 * chunk); });
  const SharedAddress values = own + block_queries(F::config) * Places::key_line;
  copy_own_lines<F, traits.value_size, block_threads>(
      {args.own_values, args.own_values_leading, args.own_values_stride}, walk.value_size, work.head, work.first_row,
      walk.rows, threadIdx.x, [&](int line, int chunk) { return values + (line * Places::value_line + 16 * chunk); });
}

template <class F>
__global__ void __launch_bounds__(threads(F::config), F::config.min_blocks)
    fused_backward(const __grid_constant__ FusedBackwardArgs args) {
  constexpr auto traits = F::traits;
  constexpr auto config = F::config;
  static_assert(keeps_rules<F>());
  using Places = BackwardPlaces<F>;
  const FusedAttentionArgs& walk = args.walk;
  const auto work = AttentionWork<F>::of_block(walk);
  if (work.head >= walk.heads) return;
  const SharedAddress own = shared_address(dynamic_shared<FusedBackwardShared<F>>().bytes);
  const SharedAddress stages = own + block_queries(config) * (Places::key_line + Places::value_line);
  TileCopies<F, Places, threads(config)> copies(walk, tile_head<F>(walk, work.head), work.first_tile, work.end_tile,
                                                threadIdx.x);
  const unsigned strip = threadIdx.x / 32;
  unsigned bits[1] = {};
  if (work.first_tile < work.end_tile) load_bits<F>(bits, walk, work, work.first_tile, strip);
  follow_previous_launch();

  if (copies.has_next()) copy_block<F>(args, work, own);  // else there may be no operands either
  const auto copy_into = [&](unsigned number) {
    const SharedAddress stage = stages + number * backward_stage_bytes(traits);
    if (copies.has_next())
      copies.copy(stage, [&](int line, long long query, bool there) {
        if (traits.part == BackwardPart::by_key && threadIdx.x % 8 == 0)
          copy_async<8>(stage + (Places::numbers + 8 * line),
                        args.statistics + 2 * (copies.head() * args.queries + query), there ? 8 : 0);
      });
    commit_async();
  };
#pragma unroll
  for (int s = 0; s < config.stages - 1; ++s) copy_into(s);
  BackwardWarp<F> warp(args, work.head, work.first_row + strip * strip_queries(), own);
  warp.take_numbers();
  RingPlace<config.stages> place;
#pragma unroll 1
  for (int turn = 0; turn < turns<F>(walk); ++turn) {
    warp.take_turn(turn);
    const Dropout<F> dropout(walk, query_head<F>(walk, work.head, turn));
#pragma unroll 1
    for (int tile = work.first_tile; tile < work.end_tile; ++tile) {
      TilePlaces<F> places[1];  // not those of the next tile beside: registers are few
      load_places<F>(places, walk, tile, work.end_tile, strip);
      wait_async<config.stages - 2>();
      __syncthreads();
      copy_into((place.stage + config.stages - 1) % config.stages);
      unsigned next_bits[1] = {};
      const int next = work.behind(tile);
      if (next < work.end_tile) load_bits<F>(next_bits, walk, work, next, strip);
      const unsigned kept = dropout.find_kept(bits[0], tile, work.first_row + strip * strip_queries());
      warp.add(stages + place.stage * backward_stage_bytes(traits), bits, places[0], kept);
      bits[0] = next_bits[0];
      place.advance();
    }
  }
  wait_async<0>();
  warp.store();
}

}  // namespace vostok
