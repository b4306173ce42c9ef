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
#include "attention/gradient_again.h"
#include "attention/mma_products.h"
#include "attention/strip_store.h"
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
  static constexpr int key_octets = traits.key_size / 8, value_octets = traits.value_size / 8;
  using Places = BackwardPlaces<F>;
  static constexpr int key_line = Places::key_line, value_line = Places::value_line;

 public:
  /// `own`: lines of key_size of the block, and behind them those of value_size.
  __device__ BackwardWarp(const FusedBackwardArgs& args, long long head, long long first_row, SharedAddress own)
      : args_(args),
        head_(head),
        first_row_(first_row),
        lane_(threadIdx.x % 32),
        keys_(own + own_fragment(threadIdx.x / 32 * strip_queries(), key_line)),
        values_(own +
                (block_queries(config) * key_line + own_fragment(threadIdx.x / 32 * strip_queries(), value_line))),
        rate_(exponent_rate(args.walk.scale)),
        sign_(args.walk.scale < 0.0F ? 0x80008000U : 0) {}

  /// Once the launch before has stored them.
  __device__ void take_numbers() {
    if constexpr (part == BackwardPart::by_query)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        if (row(half) < args_.walk.rows) numbers_[half] = load_numbers(args_, head_, row(half));
  }

  __device__ void add(SharedAddress stage, const unsigned (&bits)[1]) {
#pragma unroll
    for (int p = 0; p < tile_keys() / config.step_keys; ++p) {
      unsigned of_part[1];
      if (part_bits<octets>(of_part, bits, p)) add_part(stage, p * config.step_keys, of_part[0]);
    }
  }

  __device__ void store() {
    if constexpr (part == BackwardPart::rows) store_rows();
    else store_gradients();
  }

 private:
  __device__ long long row(int half) const { return first_row_ + lane_ / 4 + 8 * half; }

  __device__ void add_part(SharedAddress stage, int first, unsigned bits) {
    float scores[1][octets][4] = {}, gradients[1][octets][4] = {};
    multiply_lines<traits.element, traits.key_size>(
        scores, stage + column_fragment(first, key_line), key_line,
        [&](unsigned(&own)[1][4], int k) { load_strips(own, keys_, key_line, k, sign_); });
    multiply_lines<traits.element, traits.value_size>(
        gradients, stage + (Places::values + column_fragment(first, value_line)), value_line,
        [&](unsigned(&own)[1][4], int k) { load_strips(own, values_, value_line, k, 0); });
    if constexpr (part == BackwardPart::rows) {
      add_rows(scores[0], gradients[0], bits);
    } else {
      make_gradients(scores[0], gradients[0], bits, stage + (Places::numbers + 8 * first));
      unsigned weights[1][octets / 2][4];
      pack_weights<traits.element>(weights[0], gradients[0]);
      multiply_weights<traits.element>(key_sums_, weights, stage + row_fragment(first, key_line), key_line);
      if constexpr (part == BackwardPart::by_key) {
        pack_weights<traits.element>(weights[0], scores[0]);
        multiply_weights<traits.element>(value_sums_, weights,
                                         stage + (Places::values + row_fragment(first, value_line)), value_line);
      }
    }
  }

  __device__ void add_rows(float (&scores)[octets][4], const float (&gradients)[octets][4], unsigned bits) {
    mask_scores<octets>(scores, bits);
    float factors[2];
    softmax_.add(scores, rate_, factors);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = 0.0F;
#pragma unroll
      for (int o = 0; o < octets; ++o)
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i)  // a key that is not named may hold anything
          sum += (bits >> (4 * o + i) & 1) != 0 ? scores[o][i] * gradients[o][i] : 0.0F;
      weighted_[half] = fmaf(weighted_[half], factors[half], sum);
    }
  }

  /// Probabilities in place of scores, and gradients of scores in place of those of probabilities.
  __device__ void make_gradients(float (&scores)[octets][4], float (&gradients)[octets][4], unsigned bits,
                                 SharedAddress numbers) const {
#pragma unroll
    for (int o = 0; o < octets; ++o) {
      QueryNumbers of_column[2];
      if constexpr (part == BackwardPart::by_key) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const SharedAddress at = numbers + 8 * (8 * o + 2 * (lane_ % 4) + c);
          of_column[c] = {__builtin_bit_cast(float, load_word(at)), __builtin_bit_cast(float, load_word(at + 4))};
        }
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const QueryNumbers& of = part == BackwardPart::by_key ? of_column[i % 2] : numbers_[i / 2];
        const bool named = (bits >> (4 * o + i) & 1) != 0;
        scores[o][i] = named ? fast_exp2(fmaf(scores[o][i], rate_, -of.logarithm)) : 0.0F;
        gradients[o][i] = named ? scores[o][i] * (gradients[o][i] - of.inner) : 0.0F;
      }
    }
  }

  __device__ void store_rows() {
    softmax_.finish();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float weighted = warp_sum<1, 2>(weighted_[half]);
      const bool exists = row(half) < args_.walk.rows;
      if (exists && lane_ % 4 == 0)
        store_numbers(args_, head_, row(half), softmax_.origin(half), softmax_.total(half), weighted);
      visit_lines(lanes_of_lines(exists && !(is_finite(weighted) && is_finite(softmax_.total(half)))), row(half),
                  [&](long long one) { GradientAgain<F>(args_, head_, one).make(); });
    }
  }

  __device__ void store_gradients() {
    const FusedAttentionArgs& walk = args_.walk;
    using Stored = typename Element<traits.element>::Storage;
    bool finite[2] = {true, true};
#pragma unroll
    for (int i = 0; i < 4 * key_octets; ++i) key_sums_[0][i / 4][i % 4] *= walk.scale;
    StripStore<traits.element, traits.key_size, traits.whole>(
        static_cast<Stored*>(args_.key_gradient) + head_ * walk.query_stride, walk.query_leading, first_row_, walk.rows,
        walk.key_size)
        .store(key_sums_[0]);
    find_finite<key_octets>(finite, key_sums_[0]);
    if constexpr (part == BackwardPart::by_key) {
      StripStore<traits.element, traits.value_size, traits.whole>(
          static_cast<Stored*>(args_.value_gradient) + head_ * args_.own_values_stride, args_.own_values_leading,
          first_row_, walk.rows, walk.value_size)
          .store(value_sums_[0]);
      find_finite<value_octets>(finite, value_sums_[0]);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half)
      visit_lines(lanes_of_lines(row(half) < walk.rows && !finite[half]), row(half),
                  [&](long long one) { GradientAgain<F>(args_, head_, one).make(); });
  }

  const FusedBackwardArgs& args_;
  const long long head_;
  const long long first_row_;
  const unsigned lane_;
  const SharedAddress keys_;
  const SharedAddress values_;
  const float rate_;
  const unsigned sign_;
  QueryNumbers numbers_[2] = {};
  OnlineSoftmax softmax_;
  float weighted_[2] = {0.0F, 0.0F};
  float key_sums_[1][key_octets][4] = {};
  float value_sums_[1][value_octets][4] = {};
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
  TileCopies<F, Places, threads(config)> copies(walk, work.head, work.first_tile, work.end_tile, threadIdx.x);
  const unsigned strip = threadIdx.x / 32;
  unsigned bits[1] = {};
  if (work.first_tile < work.end_tile) load_bits<F>(bits, walk, work.first_tile, strip);
  follow_previous_launch();

  if (copies.has_next()) copy_block<F>(args, work, own);  // else there may be no operands either
  const auto copy_into = [&](unsigned number) {
    const SharedAddress stage = stages + number * backward_stage_bytes(traits);
    if (copies.has_next())
      copies.copy(stage, [&](int line, long long query, bool there) {
        if (traits.part == BackwardPart::by_key && threadIdx.x % 8 == 0)
          copy_async<8>(stage + (Places::numbers + 8 * line), args.statistics + 2 * (work.head * args.queries + query),
                        there ? 8 : 0);
      });
    commit_async();
  };
#pragma unroll
  for (int s = 0; s < config.stages - 1; ++s) copy_into(s);
  BackwardWarp<F> warp(args, work.head, work.first_row + strip * strip_queries(), own);
  warp.take_numbers();
  RingPlace<config.stages> place;
#pragma unroll 1
  for (int tile = work.first_tile; tile < work.end_tile; ++tile) {
    wait_async<config.stages - 2>();
    __syncthreads();
    copy_into((place.stage + config.stages - 1) % config.stages);
    unsigned next_bits[1] = {};
    if (tile + 1 < work.end_tile) load_bits<F>(next_bits, walk, tile + 1, strip);
    warp.add(stages + place.stage * backward_stage_bytes(traits), bits);
    bits[0] = next_bits[0];
    place.advance();
  }
  wait_async<0>();
  warp.store();
}

}  // namespace vostok
