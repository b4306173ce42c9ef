// Attention at a mask in one kernel, by mma.sync: scores, online softmax and the product with values, tile by tile, so
// that scores never reach memory (Dao: FlashAttention-2, arXiv 2307.08691).
//
// A block has 16 to 256 queries of one head, and walks the tiles of keys that any of them names (abi/key_tiles.h). Keys
// and values are gathered into stages of shared memory while tiles before them are multiplied. A warp has one or two
// strips of 16 queries; it masks their scores by a word of bits for each lane, and leaves tiles out that none of its
// queries names.
#pragma once

#include "abi/fixed.h"
#include "abi/fused_mma.h"
#include "attention/attention_output.h"
#include "attention/attention_work.h"
#include "attention/dropout.h"
#include "attention/mma_products.h"
#include "attention/online_softmax.h"
#include "attention/score_bias.h"
#include "attention/score_scales.h"
#include "attention/soft_cap.h"
#include "attention/tile_copies.h"
#include "parts/dependent_launch.h"
#include "parts/shared.h"

namespace vostok {

/// Lines of queries, keys and values, padded.
template <class F>
struct PaddedPlaces {
  static constexpr int key_line = key_line_bytes(F::traits), value_line = value_line_bytes(F::traits);
  static constexpr unsigned exponents = tile_keys() * (key_line + value_line);

  static __device__ unsigned query(int line, int chunk) { return line * key_line + 16 * chunk; }
  static __device__ constexpr unsigned key(int line, int chunk) { return line * key_line + 16 * chunk; }
  static __device__ constexpr unsigned value(int line, int chunk) {
    return tile_keys() * key_line + line * value_line + 16 * chunk;
  }
  static __device__ unsigned key_exponent(int line) { return exponents + 4 * line; }
  static __device__ unsigned value_exponent(int line) { return key_exponent(tile_keys() + line); }
};

/// A block's shared memory: queries, then stages of keys and values.
template <class F>
struct FusedMmaShared {
  alignas(16) unsigned char bytes[shared_bytes(F::traits, F::config)];
};

/// What a warp computes.
template <class F>
class FusedMmaWarp {
  static constexpr auto traits = F::traits;
  static constexpr auto config = F::config;
  static constexpr int strips = config.warp_strips;
  static constexpr int octets = config.step_keys / 8;
  using Part = ColumnPart<F>;
  static constexpr int value_octets = Part::value_size / 8;
  static constexpr int key_steps = traits.key_size / 16;
  static constexpr int parts = tile_keys() / config.step_keys;
  static constexpr int key_line = key_line_bytes(traits), value_line = value_line_bytes(traits);
  static constexpr int line_terms = line_parts(traits);
  static constexpr Dtype type = multiplied_type(traits);

 public:
  __device__ FusedMmaWarp(const FusedAttentionArgs& args, const AttentionWork<F>& work, SharedAddress queries)
      : queries_(queries + own_fragment(threadIdx.x / 32 * strips * strip_queries(), key_line)),
        bias_(args, work.head),
        sign_(traits.terms == 0 && ScoreRates<F>::flips_scores(args) ? 0x80008000U : 0) {
#pragma unroll
    for (int q = 0; q < strips; ++q)
      scales_[q].begin(args, work.head, work.first_row + (threadIdx.x / 32 * strips + q) * strip_queries());
  }

  /// Once the queries are in shared memory.
  __device__ void take_queries() {
    if constexpr (config.keeps_queries) {
#pragma unroll
      for (int k = 0; k < key_steps; ++k) load_strips(kept_[k], queries_, key_line, k, sign_);
    }
  }

  /// The warp's part of a tile: `bits` and places of each strip, and which of the bits' probabilities are kept.
  __device__ void add(SharedAddress stage, const unsigned (&bits)[strips], const TilePlaces<F> (&places)[strips],
                      const unsigned (&kept)[strips]) {
    // Of terms the compiler would mix parts, and registers are few. Places of biases are found by constants.
#pragma unroll(promotes(traits) && !traits.biased ? 1 : parts)
    for (int part = 0; part < parts; ++part) {
      unsigned of_part[strips];
      if (part_bits<octets>(of_part, bits, part)) add_part(stage, part * config.step_keys, of_part, places, kept);
    }
  }

  /// Of so many keys.
  __device__ void finish(int keys) {
#pragma unroll
    for (int q = 0; q < strips; ++q) {
      softmax_[q].finish();
      scales_[q].finish(sums_[q], softmax_[q], keys);
    }
  }

  __device__ float (&sums(int strip))[value_octets][4] { return sums_[strip]; }
  __device__ const OnlineSoftmax& softmax(int strip) const { return softmax_[strip]; }

 private:
  /// Of the keys from `first_key` on; `kept` is of the whole tile.
  __device__ void add_part(SharedAddress stage, int first_key, const unsigned (&bits)[strips],
                           const TilePlaces<F> (&places)[strips], const unsigned (&kept)[strips]) {
    [[maybe_unused]] unsigned biases[strips][octets][bias_words<F>()];
    if constexpr (traits.biased)  // so that they come while scores are multiplied
#pragma unroll
      for (int q = 0; q < strips; ++q) bias_.load(biases[q], places[q], first_key / 8, bits[q]);
    float scores[strips][octets][4] = {};
    visit_products<line_terms>([&](int own_part, int part) {
      const SharedAddress keys = stage + (column_fragment(first_key, key_line) + 2 * part * traits.key_size);
      multiply_lines<type, traits.key_size>(scores, keys, key_line, [&](unsigned(&fragments)[strips][4], int k) {
        if constexpr (config.keeps_queries) copy(fragments, kept_[k]);
        else load_strips(fragments, queries_, key_line, own_part * key_steps + k, sign_);
      });
    });
    const SharedAddress key_exponents = stage + PaddedPlaces<F>::key_exponent(first_key);
    const SharedAddress value_exponents = stage + PaddedPlaces<F>::value_exponent(first_key);
    unsigned probabilities[strips][line_terms][octets / 2][4];
#pragma unroll
    for (int q = 0; q < strips; ++q) {
      scales_[q].template scale<config.step_keys>(scores[q], key_exponents);
      if constexpr (traits.biased) add_bias<F>(scores[q], scales_[q].rates(), biases[q]);
      mask_scores<octets>(scores[q], bits[q]);
      float factors[2];
      softmax_[q].template add<traits.terms == 0>(scores[q], {scales_[q].rate(0), scales_[q].rate(1)}, factors);
      scales_[q].template weigh<config.step_keys>(scores[q], factors, value_exponents);
      scale_sums(sums_[q], factors);
      drop<F, octets>(scores[q], kept[q] >> first_key / 8 * 4);
      pack_parts<F>(probabilities[q], scores[q]);
    }
    const unsigned first_column = 2 * Part::value_size * Part::number();
    multiply_weights<type>(sums_, probabilities,
                           stage + (tile_keys() * key_line + first_column + row_fragment(first_key, value_line)),
                           value_line, 2 * traits.value_size);
  }

  static __device__ void copy(unsigned (&to)[strips][4], const unsigned (&from)[strips][4]) {
#pragma unroll
    for (int i = 0; i < 4 * strips; ++i) to[i / 4][i % 4] = from[i / 4][i % 4];
  }

  const SharedAddress queries_;  ///< the lane's line of the warp's first strip
  ScoreScales<F> scales_[strips];
  const HeadBias<F> bias_;
  const unsigned sign_;  ///< of the scale, for two queries' elements
  unsigned kept_[config.keeps_queries ? key_steps : 1][strips][4];
  float sums_[strips][value_octets][4] = {};
  OnlineSoftmax softmax_[strips];
};

template <class F>
__global__ void __launch_bounds__(threads(F::config), F::config.min_blocks)
    fused_mma(const __grid_constant__ FusedAttentionArgs args) {
  constexpr auto traits = F::traits;
  constexpr auto config = F::config;
  static_assert(keeps_rules<F>());
  const auto work = AttentionWork<F>::of_block(args);
  if (work.head >= args.heads) return;
  const SharedAddress queries = shared_address(dynamic_shared<FusedMmaShared<F>>().bytes);
  const SharedAddress stages = queries + block_queries(config) * key_line_bytes(traits);
  constexpr int strips = config.warp_strips;
  const unsigned first_strip = threadIdx.x / 32 * strips;
  TileCopies<F, PaddedPlaces<F>, threads(config)> copies(args, tile_head<F>(args, work.head), work.first_tile,
                                                         work.end_tile, threadIdx.x);
  unsigned bits[strips] = {};
  TilePlaces<F> places[strips];
  if (work.first_tile < work.end_tile) load_bits<F>(bits, args, work, work.first_tile, first_strip);
  load_places<F>(places, args, work.first_tile, work.end_tile, first_strip);
  follow_previous_launch();

  // Where no query of the mask names a key there may be no queries either.
  if (copies.has_next())
    copy_queries<F, PaddedPlaces<F>, threads(config)>(args, work.head, work.first_row, queries, threadIdx.x);
  const auto copy_into = [&](unsigned stage) {
    if (copies.has_next()) copies.copy(stages + stage * attention_stage_bytes(traits));
    commit_async();
  };
#pragma unroll
  for (int s = 0; s < config.stages - 1; ++s) copy_into(s);
  FusedMmaWarp<F> warp(args, work, queries);
  const Dropout<F> dropout(args, work.head);
  RingPlace<config.stages> place;
#pragma unroll 1
  for (int tile = work.first_tile; tile < work.end_tile; ++tile) {
    take_tile(place, copy_into);
    if (tile == work.first_tile) warp.take_queries();
    unsigned next_bits[strips] = {};
    if (tile + 1 < work.end_tile) load_bits<F>(next_bits, args, work, tile + 1, first_strip);
    TilePlaces<F> next_places[strips];
    load_places<F>(next_places, args, tile + 1, work.end_tile, first_strip);
    unsigned kept[strips];
#pragma unroll
    for (int q = 0; q < strips; ++q)
      kept[q] = dropout.find_kept(bits[q], tile, work.first_row + (first_strip + q) * strip_queries());
    warp.add(stages + place.stage * attention_stage_bytes(traits), bits, places, kept);
#pragma unroll
    for (int q = 0; q < strips; ++q) {
      bits[q] = next_bits[q];
      places[q] = next_places[q];
    }
    place.advance();
  }
  wait_async<0>();
  warp.finish((work.end_tile - work.first_tile) * tile_keys());

#pragma unroll
  for (int q = 0; q < strips; ++q) {
    const StripOutput<F> output(args, work.head, work.first_row + (first_strip + q) * strip_queries());
    if constexpr (config.slices > 1) output.store_partial(warp.sums(q), warp.softmax(q), work.slice, config.slices);
    else output.store(warp.sums(q), warp.softmax(q));
  }
}

}  // namespace vostok
