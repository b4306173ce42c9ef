// What a warp makes of a strip of 16 own lines between the products of attention's gradient, whatever instruction
// multiplies: probabilities and gradients of scores from fragments (parts/mma.h), two numbers of each query, and where
// gradients leave, made again where they are not finite.
#pragma once

#include "abi/fused_backward.h"
#include "attention/attention_work.h"
#include "attention/dropout.h"
#include "attention/gradient_again.h"
#include "attention/gradient_scales.h"
#include "attention/score_bias.h"
#include "attention/soft_cap.h"
#include "attention/strip_store.h"
#include "parts/shared_address.h"

namespace vostok {

template <class F>
class BackwardStrip {
  static constexpr auto traits = F::traits;
  static constexpr BackwardPart part = traits.part;

 public:
  __device__ BackwardStrip(const FusedBackwardArgs& args, long long head, long long first_row)
      : args_(args),
        head_(head),
        first_row_(first_row),
        lane_(threadIdx.x % 32),
        rates_(args.walk),
        bias_(args.walk, query_head<F>(args.walk, head, 0)),
        bias_gradient_(args, head),
        scales_(args, head, first_row) {}

  /// Of operands of terms.
  __device__ GradientScales<F>& scales() { return scales_; }

  /// Once the launch before has stored them.
  __device__ void take_numbers() {
    if constexpr (part == BackwardPart::by_query)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        if (row(half) < args_.walk.rows) numbers_[half] = load_numbers(args_, head_, row(half));
  }

  /// Once for each head of queries: of own lines, or by key of those that a turn meets.
  __device__ void take_turn(int turn) { bias_ = HeadBias<F>(args_.walk, query_head<F>(args_.walk, head_, turn)); }

  /// Of scores that are on their way: those of keys from octet `first` on, that `bits` has.
  template <int octets>
  __device__ void load_bias(unsigned (&biases)[octets][bias_words<F>()], const TilePlaces<F>& places, int first,
                            unsigned bits) const {
    if constexpr (traits.biased) bias_.load(biases, places, first, bits);
  }

  /// Gradients of probabilities before dropout in place of those behind it.
  template <int octets>
  __device__ void drop_gradients(float (&gradients)[octets][4], unsigned kept) const {
    if constexpr (traits.dropped) {
#pragma unroll
      for (int i = 0; i < 4 * octets; ++i) gradients[i / 4][i % 4] *= args_.walk.kept_scale;
      drop<F, octets>(gradients, kept);
    }
  }

  /// Adds scores, of which exponentials become, and gradients of probabilities to the two numbers of each own query.
  /// `tile`: of terms.
  template <int octets>
  __device__ void add_rows(float (&scores)[octets][4], const float (&gradients)[octets][4], unsigned bits,
                           const unsigned (&biases)[octets][bias_words<F>()], const TilePowers& tile) {
    float factors[2];
    exponentiate(scores, bits, biases, factors);
    add_weighted(scores, gradients, bits, factors, tile);
  }
  /// Makes exponentials of scores, and the factors of what was summed before.
  template <int octets>
  __device__ void exponentiate(float (&scores)[octets][4], unsigned bits,
                               const unsigned (&biases)[octets][bias_words<F>()], float (&factors)[2]) {
    rates_.cap(scores);
    if constexpr (traits.biased) add_bias<F>(scores, rates_, biases);
    mask_scores<octets>(scores, bits);
    softmax_.add(scores, {rates_.exponent, rates_.exponent}, factors);
  }
  /// Adds the products of exponentials with gradients of probabilities.
  template <int octets>
  __device__ void add_weighted(const float (&exponentials)[octets][4], const float (&gradients)[octets][4],
                               unsigned bits, const float (&factors)[2], const TilePowers& tile) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = 0.0F;
#pragma unroll
      for (int o = 0; o < octets; ++o)
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i)  // a key that is not named may hold anything
          sum += is_named(bits, o, i) ? exponentials[o][i] * gradients[o][i] : 0.0F;
      weighted_[half] = fmaf(weighted_[half], factors[half], sum);
    }
    if constexpr (traits.terms > 0) note_rows(exponentials, gradients, bits, factors, tile);
  }

  /// Where scores are capped: capped ones in place of them, and the gradients of scores in place of those of
  /// probabilities, but for the factor of probabilities.
  template <int octets>
  __device__ void cap(float (&scores)[octets][4], float (&gradients)[octets][4], SharedAddress numbers) const {
    static_assert(traits.capped);
#pragma unroll
    for (int o = 0; o < octets; ++o) {
      float inners[2];
      load_columns(inners, numbers + 4, o);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const Curve curve = rates_.curve(scores[o][i]);
        scores[o][i] = curve.value;
        gradients[o][i] = curve.slope * (gradients[o][i] - inner(inners, i));
      }
    }
  }

  /// Probabilities in place of scores. `numbers`: of the tile's queries, two words each; only by_key reads them.
  template <int octets>
  __device__ void make_probabilities(float (&scores)[octets][4], unsigned bits, SharedAddress numbers) const {
#pragma unroll
    for (int o = 0; o < octets; ++o) {
      float logarithms[2];
      load_columns(logarithms, numbers, o);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float logarithm = part == BackwardPart::by_key ? logarithms[i % 2] : numbers_[i / 2].logarithm;
        scores[o][i] = is_named(bits, o, i) ? fast_exp2(fmaf(scores[o][i], rates_.exponent, -logarithm)) : 0.0F;
      }
    }
  }

  /// Gradients of scores in place of those of probabilities, or of what `cap` made of them.
  template <int octets>
  __device__ void make_gradients(float (&gradients)[octets][4], const float (&probabilities)[octets][4], unsigned bits,
                                 SharedAddress numbers) const {
#pragma unroll
    for (int o = 0; o < octets; ++o) {
      float inners[2];
      if constexpr (!traits.capped) load_columns(inners, numbers + 4, o);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float by_score = traits.capped ? gradients[o][i] : gradients[o][i] - inner(inners, i);
        gradients[o][i] = is_named(bits, o, i) ? probabilities[o][i] * by_score : 0.0F;
      }
    }
  }

  /// Where scores are biased or of terms, all of that at once, and by query the gradients by biases, on their way to
  /// memory. `tile`: of terms.
  template <int octets>
  __device__ void make_at_once(float (&scores)[octets][4], float (&gradients)[octets][4], unsigned bits,
                               SharedAddress numbers, const unsigned (&biases)[octets][bias_words<F>()],
                               const TilePlaces<F>& tile_places, int first, const TilePowers& tile) {
    const TilePlaces<F> places = again(tile_places);
#pragma unroll
    for (int o = 0; o < octets; ++o) {
      const ColumnNumbers columns = column_numbers(numbers, o);
      float slopes[4];
      make_octet_probabilities(scores[o], slopes, o, bits, columns, biases[o]);
      make_octet_gradients(gradients[o], scores[o], slopes, o, bits, columns, places, first, tile);
    }
  }

  /// Two numbers of each of the two columns that a lane has of an octet; only of queries, by key.
  struct ColumnNumbers {
    float logarithms[2];
    float inners[2];
  };
  __device__ ColumnNumbers column_numbers(SharedAddress numbers, int octet) const {
    if constexpr (part != BackwardPart::by_key) return {};
    unsigned words[4];
    load_words(words, numbers + 8 * fragment_column(octet, 0));
    return {{__builtin_bit_cast(float, words[0]), __builtin_bit_cast(float, words[2])},
            {__builtin_bit_cast(float, words[1]), __builtin_bit_cast(float, words[3])}};
  }

  /// Probabilities in place of an octet's scores, and the slopes of their caps.
  __device__ void make_octet_probabilities(float (&scores)[4], float (&slopes)[4], int octet, unsigned bits,
                                           const ColumnNumbers& columns,
                                           const unsigned (&biases)[bias_words<F>()]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const Curve curve = rates_.curve(scores[i]);
      const float score = with_bias(curve.value, biases, i);
      const float logarithm = part == BackwardPart::by_key ? columns.logarithms[i % 2] : numbers_[i / 2].logarithm;
      scores[i] = is_named(bits, octet, i) ? fast_exp2(fmaf(score, rates_.exponent, -logarithm)) : 0.0F;
      slopes[i] = curve.slope;
    }
  }

  /// Gradients of scores in place of those of an octet's probabilities, and by query the gradients by biases, on their
  /// way to memory. `octet`: of a step from octet `first` of the tile on.
  __device__ void make_octet_gradients(float (&gradients)[4], const float (&probabilities)[4], const float (&slopes)[4],
                                       int octet, unsigned bits, const ColumnNumbers& columns,
                                       const TilePlaces<F>& places, int first, const TilePowers& tile) {
    [[maybe_unused]] float lacks[2], cancels[2];
    if constexpr (traits.terms > 0) find_lacks(lacks, cancels, tile, octet, columns.inners);
    float by_bias[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const bool named = is_named(bits, octet, i);
      if constexpr (traits.terms > 0) scales_.note_gradient(i / 2, probabilities[i], lacks[i % 2], cancels[i % 2]);
      by_bias[i] = named ? probabilities[i] * (gradients[i] - inner(columns.inners, i)) : 0.0F;
      gradients[i] = named ? by_bias[i] * slopes[i] : 0.0F;
    }
    if constexpr (traits.biased && part == BackwardPart::by_query)
      if (bias_gradient_.is_wanted())
        places.visit_octet(first + octet, bits >> 4 * octet,
                           [&](int i, int place) { bias_gradient_.store(place, by_bias[i]); });
  }

  /// What own queries' exponentials are relative to, and their sums.
  __device__ void find_totals(float (&origins)[2], float (&totals)[2]) {
    softmax_.finish();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      origins[half] = softmax_.origin(half);
      totals[half] = softmax_.total(half);
    }
  }
  __device__ void store_rows() {
    float origins[2], totals[2];
    find_totals(origins, totals);
    store_rows(origins, totals);
  }
  __device__ void store_rows(const float (&origins)[2], const float (&totals)[2]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float weighted = warp_sum<1, 2>(weighted_[half]);
      const bool exists = row(half) < args_.walk.rows;
      if (exists && lane_ % 4 == 0) store_numbers(args_, head_, row(half), origins[half], totals[half], weighted);
      bool finite = is_finite(weighted) && is_finite(totals[half]);
      if constexpr (traits.terms > 0) finite &= scales_.vouches(args_, half, origins[half], 0.0F);  // by all lanes
      make_again(half, finite);
    }
  }

  /// Of the block's part. Of more sums than it has elements, the first count; by_query has no sums of values.
  template <int key_count, int value_count>
  __device__ void store_gradients(float (&key_sums)[key_count][4], float (&value_sums)[value_count][4]) const {
    bool finite[2] = {true, true};
    store_key_gradient(key_sums, finite);
    if constexpr (part == BackwardPart::by_key) store_value_gradient(value_sums, finite);
    finish_gradients(finite);
  }
  /// Whether both of a lane's lines are `finite` as well.
  template <int count>
  __device__ void store_key_gradient(float (&sums)[count][4], bool (&finite)[2]) const {
    const FusedAttentionArgs& walk = args_.walk;
    if constexpr (traits.terms > 0) scales_.keys().restore(sums);
    store_gradient<ColumnPart<F>::key_size>(sums, finite, args_.key_gradient, walk.query_stride, walk.query_leading,
                                            walk.key_size, walk.scale);
  }
  template <int count>
  __device__ void store_value_gradient(float (&sums)[count][4], bool (&finite)[2]) const {
    if constexpr (traits.terms > 0) scales_.values().restore(sums);
    store_gradient<ColumnPart<F>::value_size>(sums, finite, args_.value_gradient, args_.own_values_stride,
                                              args_.own_values_leading, args_.walk.value_size,
                                              kept_scale<F>(args_.walk));
  }
  /// Makes lines again that are not finite, or that terms may have spoilt.
  __device__ void finish_gradients(const bool (&finite)[2]) const {
    if constexpr (traits.biased && traits.causal && part == BackwardPart::by_query) clear_unseen();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      bool vouched = finite[half];
      if constexpr (traits.terms > 0)
        vouched &= scales_.vouches(args_, half, numbers_[half].logarithm, numbers_[half].inner);  // by all lanes
      make_again(half, vouched);
    }
  }

 private:
  template <int size, int count>
  __device__ void store_gradient(float (&sums)[count][4], bool (&finite)[2], void* gradient, long long stride,
                                 long long leading, int own_size, float factor) const {
    using Stored = typename Element<traits.element>::Storage;
    const int first = ColumnPart<F>::number() * size;
#pragma unroll
    for (int i = 0; i < size / 2; ++i) sums[i / 4][i % 4] *= factor;
    StripStore<traits.element, size, traits.whole>(static_cast<Stored*>(gradient) + (head_ * stride + first), leading,
                                                   first_row_, args_.walk.rows, own_size - first)
        .store(sums);
    find_finite<size / 8>(finite, sums);
  }

  /// By a probability, what the gradient of its score lacks in an octet's columns, and what cancels there.
  __device__ void find_lacks(float (&lacks)[2], float (&cancels)[2], const TilePowers& tile, int octet,
                             const float (&inners)[2]) const {
    const ColumnPowers keys = column_powers(tile.keys, octet), values = column_powers(tile.values, octet);
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      lacks[c] = keys.at[c] * values.at[c];
      cancels[c] = part == BackwardPart::by_key ? keys.at[c] * fabsf(inners[c]) : keys.at[c];
    }
  }
  /// Of a step's exponentials.
  template <int octets>
  __device__ void note_rows(const float (&exponentials)[octets][4], const float (&gradients)[octets][4], unsigned bits,
                            const float (&factors)[2], const TilePowers& tile) {
    float lacks[2] = {0.0F, 0.0F}, magnitudes[2] = {0.0F, 0.0F};
#pragma unroll
    for (int o = 0; o < octets; ++o) {
      const ColumnPowers values = column_powers(tile.values, o);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (!is_named(bits, o, i)) continue;
        lacks[i / 2] = fmaf(exponentials[o][i], values.at[i % 2], lacks[i / 2]);
        magnitudes[i / 2] = fmaf(exponentials[o][i], fabsf(gradients[o][i]), magnitudes[i / 2]);
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) scales_.note_row(half, factors[half], lacks[half], magnitudes[half]);
  }

  __device__ float with_bias(float score, const unsigned (&biases)[bias_words<F>()], int i) const {
    if constexpr (traits.biased) return rates_.biased(score, HeadBias<F>::of(biases, i));
    else return score;
  }
  static __device__ TilePlaces<F> again(const TilePlaces<F>& places) {
    if constexpr (traits.biased) return places.again();
    else return places;
  }

  __device__ long long row(int half) const { return first_row_ + lane_ / 4 + 8 * half; }
  static __device__ bool is_named(unsigned bits, int octet, int i) { return (bits >> (4 * octet + i) & 1) != 0; }

  __device__ float inner(const float (&of_columns)[2], int i) const {
    return part == BackwardPart::by_key ? of_columns[i % 2] : numbers_[i / 2].inner;
  }

  /// A word of each of the two columns that a lane has of an octet.
  __device__ void load_columns(float (&words)[2], SharedAddress from, int octet) const {
    if constexpr (part == BackwardPart::by_key)
#pragma unroll
      for (int c = 0; c < 2; ++c)
        words[c] = __builtin_bit_cast(float, load_word(from + 8 * (8 * octet + 2 * (lane_ % 4) + c)));
  }

  /// Gradients by biases of elements that are not seen: the last ones of each query, whose tiles may not be walked.
  __device__ void clear_unseen() const {
    const FusedAttentionArgs& walk = args_.walk;
    if (!bias_gradient_.is_wanted()) return;
    const long long end = min(first_row_ + strip_queries(), walk.rows);
#pragma unroll 1
    for (long long query = first_row_; query < end; ++query)
#pragma unroll 1
      for (int place = walk.row_offsets[query + 1] - 1 - static_cast<int>(lane_); place >= walk.row_offsets[query];
           place -= 32) {
        if (sees<F>(walk, query, static_cast<const typename Index<traits.index>::Storage*>(walk.column_indices)[place]))
          break;
        bias_gradient_.store(place, 0.0F);
      }
  }

  /// Every lane of the warp comes here.
  __device__ void make_again(int half, bool finite) const {
    visit_lines(lanes_of_lines(row(half) < args_.walk.rows && !finite), row(half),
                [&](long long one) { GradientAgain<F>(args_, head_, one).make(); });
  }

  const FusedBackwardArgs& args_;
  const long long head_;
  const long long first_row_;
  const unsigned lane_;
  const ScoreRates<F> rates_;
  HeadBias<F> bias_;
  const BiasGradient<F> bias_gradient_;
  QueryNumbers numbers_[2] = {};
  [[no_unique_address]] GradientScales<F> scales_;
  OnlineSoftmax softmax_;
  float weighted_[2] = {0.0F, 0.0F};
};

}  // namespace vostok
