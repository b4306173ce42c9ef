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
#include "attention/backward_copies.h"
#include "attention/backward_strip.h"
#include "attention/dropout.h"
#include "attention/mma_products.h"
#include "attention/score_scales.h"
#include "parts/dependent_launch.h"
#include "parts/shared.h"

namespace vostok {

/// A stage: lines of key_size, lines of value_size, two numbers for each, and the exponents of terms.
template <class F>
struct BackwardPlaces {
  static constexpr int key_line = key_line_bytes(F::traits), value_line = value_line_bytes(F::traits);
  static constexpr int values = tile_keys() * key_line, numbers = values + tile_keys() * value_line;
  static constexpr int exponents = numbers + 8 * tile_keys();

  static __device__ constexpr unsigned key(int line, int chunk) { return line * key_line + 16 * chunk; }
  static __device__ constexpr unsigned value(int line, int chunk) { return values + line * value_line + 16 * chunk; }
  static __device__ unsigned own_key(int line, int chunk) { return key(line, chunk); }
  static __device__ unsigned own_value(int line, int chunk) {
    return block_queries(F::config) * key_line + line * value_line + 16 * chunk;
  }
  static __device__ unsigned key_exponent(int line) { return exponents + 4 * line; }
  static __device__ unsigned value_exponent(int line) { return key_exponent(tile_keys() + line); }
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
  static constexpr Dtype type = multiplied_type(traits);
  using Places = BackwardPlaces<F>;
  using Part = ColumnPart<F>;
  static constexpr int key_line = Places::key_line, value_line = Places::value_line;

 public:
  /// `own`: lines of key_size of the block, and behind them those of value_size.
  __device__ BackwardWarp(const FusedBackwardArgs& args, long long head, long long first_row, SharedAddress own)
      : strip_(args, head, first_row),
        keys_(own + own_fragment(threadIdx.x / 32 * strip_queries(), key_line)),
        values_(own +
                (block_queries(config) * key_line + own_fragment(threadIdx.x / 32 * strip_queries(), value_line))),
        sign_(traits.terms == 0 && ScoreRates<F>::flips_scores(args.walk) ? 0x80008000U : 0) {}

  /// Once the launch before has stored them.
  __device__ void take_numbers() { strip_.take_numbers(); }

  __device__ void take_turn(int turn) { strip_.take_turn(turn); }

  /// A tile, and which of its bits' probabilities are kept.
  __device__ void add(SharedAddress stage, const unsigned (&bits)[1], const TilePlaces<F>& places, unsigned kept) {
    constexpr int steps = tile_keys() / config.step_keys;
    // Of terms the compiler would mix steps, and registers are few. Places of biases are found by constants.
#pragma unroll(traits.terms > 0 && !traits.biased ? 1 : steps)
    for (int p = 0; p < steps; ++p) {
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
    [[maybe_unused]] unsigned biases[octets][bias_words<F>()];
    strip_.load_bias(biases, places, first / 8, bits);
    float scores[1][octets][4] = {}, gradients[1][octets][4] = {};
    multiply<traits.key_size>(scores, stage + column_fragment(first, key_line), key_line, keys_, sign_);
    multiply<traits.value_size>(gradients, stage + (Places::values + column_fragment(first, value_line)), value_line,
                                values_, 0);
    const SharedAddress numbers = stage + (Places::numbers + 8 * first);
    const TilePowers powers = {stage + Places::key_exponent(first), stage + Places::value_exponent(first)};
    if constexpr (traits.terms > 0) {
      strip_.scales().size_scores(scores[0], powers);
      strip_.scales().size_gradients(gradients[0], powers);
      strip_.scales().template note_scores<config.step_keys>(powers, numbers);
    }
    strip_.drop_gradients(gradients[0], kept);
    if constexpr (part == BackwardPart::rows) {
      strip_.add_rows(scores[0], gradients[0], bits, biases, powers);
    } else {
      if constexpr (traits.biased || traits.terms > 0) {
        strip_.make_at_once(scores[0], gradients[0], bits, numbers, biases, places, first / 8, powers);
      } else {
        if constexpr (traits.capped) strip_.cap(scores[0], gradients[0], numbers);
        strip_.make_probabilities(scores[0], bits, numbers);
        strip_.make_gradients(gradients[0], scores[0], bits, numbers);
      }
      if constexpr (traits.terms > 0) weigh(strip_.scales().keys(), gradients[0], key_sums_[0], powers.keys);
      add_products<traits.key_size>(key_sums_, gradients[0],
                                    stage + (own_columns(Part::key_size) + row_fragment(first, key_line)), key_line);
      if constexpr (part == BackwardPart::by_key) {
        drop<F, octets>(scores[0], kept);
        if constexpr (traits.terms > 0) weigh(strip_.scales().values(), scores[0], value_sums_[0], powers.values);
        add_products<traits.value_size>(
            value_sums_, scores[0],
            stage + (Places::values + own_columns(Part::value_size) + row_fragment(first, value_line)), value_line);
      }
    }
  }

  /// Adds the products of own lines with others.
  template <int size>
  static __device__ void multiply(float (&sums)[1][octets][4], SharedAddress others, int line_bytes, SharedAddress own,
                                  unsigned sign) {
    if constexpr (traits.terms == 2) multiply_split_lines<size>(sums[0], own, others, line_bytes, 2 * size);
    else
      multiply_lines<type, size>(sums, others, line_bytes, [&](unsigned(&fragments)[1][4], int k) {
        load_strips(fragments, own, line_bytes, k, sign);
      });
  }

  /// Weights relative to the largest so far, and sums so far, too.
  template <int count>
  static __device__ void weigh(WeightScale& scale, float (&weights)[octets][4], float (&sums)[count][4],
                               SharedAddress powers) {
    float factors[2];
    scale.weigh(weights, factors, powers);
    scale_sums(sums, factors);
  }

  /// Bytes from a line's first element to the first of the block's part.
  static __device__ unsigned own_columns(int part_size) { return 2 * part_size * Part::number(); }

  /// Adds the products of weights with a part of lines [size].
  template <int size, int count>
  static __device__ void add_products(float (&sums)[1][count][4], const float (&weights)[octets][4],
                                      SharedAddress lines, int line_bytes) {
    unsigned packed[1][line_parts(traits)][octets / 2][4];
    pack_parts<F>(packed[0], weights);
    multiply_weights<type>(sums, packed, lines, line_bytes, 2 * size);
  }

  BackwardStrip<F> strip_;
  const SharedAddress keys_;
  const SharedAddress values_;
  const unsigned sign_;
  float key_sums_[1][Part::key_size / 8][4] = {};
  float value_sums_[1][Part::value_size / 8][4] = {};
};

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

  if (copies.has_next())  // else there may be no operands either
    copy_own_operands<F, Places, threads(config)>(args, work, own, threadIdx.x);
  const auto copy_into = [&](unsigned number) {
    const SharedAddress stage = stages + number * backward_stage_bytes(traits);
    if (copies.has_next()) copy_backward_tile<F>(args, copies, stage, stage + Places::numbers, threadIdx.x);
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
      take_tile(place, copy_into);
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
