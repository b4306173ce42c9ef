// A query's output once more, by CUDA cores from the operands themselves, for rows that were not finite: a key or a
// value that other queries of the block name, and this one does not, may hold anything. A warp makes a row; a lane has
// every 32nd element. Rows that are truly not finite come here at every call.
#pragma once

#include "abi/fused_attention.h"
#include "attention/column_part.h"
#include "attention/dropout.h"
#include "attention/online_softmax.h"
#include "attention/score_bias.h"
#include "attention/seen_lines.h"
#include "attention/soft_cap.h"
#include "parts/element.h"
#include "parts/loads.h"
#include "parts/warp.h"

namespace vostok {

template <class F>
class AttendAgain {
  static constexpr auto traits = F::traits;
  using Type = Element<traits.element>;
  using Stored = typename Type::Storage;
  static constexpr int key_parts = (traits.key_size + 31) / 32;
  static constexpr int value_parts = (traits.value_size + 31) / 32;

 public:
  __device__ AttendAgain(const FusedAttentionArgs& args, long long head, long long row)
      : args_(args), head_(head), key_head_(tile_head<F>(args, head)), row_(row), lane_(threadIdx.x % 32) {}

  /// Every lane of the warp comes here.
  __device__ void make() {
    float query[key_parts];
    load<key_parts>(query, args_.query, head_ * args_.query_stride + row_ * args_.query_leading, args_.key_size);
    const Dropout<F> dropout(args_, head_);
#pragma unroll 1
    for (int i = args_.row_offsets[row_]; i < args_.row_offsets[row_ + 1]; ++i) {
      const long long key = static_cast<const typename Index<traits.index>::Storage*>(args_.column_indices)[i];
      if (sees<F>(args_, row_, key) && !is_removed(i)) add(query, key, i, dropout.keeps(row_, key));
    }
    store();
  }

 private:
  template <int parts>
  __device__ void load(float (&to)[parts], const void* operand, long long first, int size) const {
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      const int at = static_cast<int>(lane_) + 32 * p;
      to[p] = at < size ? Type::to_float(load_global(static_cast<const Stored*>(operand) + first + at)) : 0.0F;
    }
  }

  __device__ ScoreRates<F> rates() const { return ScoreRates<F>(args_); }

  /// Halves of differences of scores do not overflow.
  __device__ float power(float half_score, float origin) const {
    return fast_exp2((half_score - origin) * fminf(2.0F * rates().exponent, 0x1.fffffep127F));
  }

  /// Whether an element's bias is -infinity: its key and value may hold anything.
  __device__ bool is_removed(int place) const {
    if constexpr (traits.biased) return HeadBias<F>(args_, head_).at(place) == -attention_infinity();
    else return false;
  }

  /// Of what the cap has left.
  __device__ float half_score(float score, int place) const {
    if constexpr (traits.biased) return fmaf(score, 0.5F * rates().outer, 0.5F * HeadBias<F>(args_, head_).at(place));
    else return score * (ScoreRates<F>::flips_scores(args_) ? -0.5F : 0.5F);
  }

  /// A key, its place among the mask's elements, and whether its probability is kept.
  __device__ void add(const float (&query)[key_parts], long long key, int place, bool kept) {
    float of_key[key_parts];
    load<key_parts>(of_key, args_.key, key_head_ * args_.key_stride + key * args_.key_leading, args_.key_size);
    float score = 0.0F;
#pragma unroll
    for (int p = 0; p < key_parts; ++p) score = fmaf(query[p], of_key[p], score);
    score = half_score(rates().cap(warp_sum<1>(score)), place);
    const float largest = fmaxf(largest_, score);
    const float origin = largest == -attention_infinity() ? 0.0F : largest;
    const float factor = power(largest_, origin), exponential = power(score, origin);
    largest_ = largest;
    total_ = fmaf(total_, factor, exponential);
    float of_value[value_parts];
    load<value_parts>(of_value, args_.value, key_head_ * args_.value_stride + key * args_.value_leading,
                      args_.value_size);
#pragma unroll
    for (int p = 0; p < value_parts; ++p) sums_[p] = fmaf(sums_[p], factor, kept ? exponential * of_value[p] : 0.0F);
  }

  __device__ void store() const {
    const float factor = output_factor<F>(args_, total_);
    auto* const output = static_cast<Stored*>(args_.output) + head_ * args_.output_stride + row_ * args_.output_leading;
    using Part = ColumnPart<F>;
    const int first = Part::number() * Part::value_size, end = min(args_.value_size, first + Part::value_size);
#pragma unroll
    for (int p = 0; p < value_parts; ++p) {
      const int at = static_cast<int>(lane_) + 32 * p;
      if (at >= first && at < end) output[at] = Type::from_float(sums_[p] * factor);
    }
    if constexpr (traits.statistics)
      if (lane_ == 0 && first == 0)
        args_.statistics[head_ * args_.rows + row_] = softmax_logarithm(2.0F * largest_ * rates().exponent, total_);
  }

  const FusedAttentionArgs& args_;
  const long long head_;
  const long long key_head_;
  const long long row_;
  const unsigned lane_;
  float largest_ = -attention_infinity();  ///< half of the largest score
  float total_ = 0.0F;
  float sums_[value_parts] = {};
};

}  // namespace vostok
