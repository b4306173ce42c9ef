// What a kernel of attention's gradient makes of one own line, once more, by CUDA cores from the operands themselves,
// for lines that were not finite (as attention/attend_again.h). A warp makes a line; a lane has every 32nd element.
#pragma once

#include "abi/fused_backward.h"
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

/// Two numbers of a query: what exponents of its scores are taken relative to, and the sum of probabilities times their
/// gradients.
struct QueryNumbers {
  float logarithm;
  float inner;
};

__device__ inline QueryNumbers load_numbers(const FusedBackwardArgs& args, long long head, long long query) {
  const auto pair =
      load_own(reinterpret_cast<const Vector<float, 2>*>(args.statistics + 2 * (head * args.queries + query)));
  return {pair.at[0], pair.at[1]};
}

/// Of a query that names no key, or only scores of -infinity, all probabilities are 0.
__device__ inline void store_numbers(const FusedBackwardArgs& args, long long head, long long query, float origin,
                                     float total, float weighted) {
  const Vector<float, 2> pair =
      total == 0.0F ? Vector<float, 2>{0.0F, 0.0F} : Vector<float, 2>{origin + log2f(total), weighted / total};
  store_global<false>(reinterpret_cast<Vector<float, 2>*>(args.statistics + 2 * (head * args.queries + query)), pair);
}

/// Where gradients by a head's biases leave: by queries, by the first part's block, where they are wanted.
template <class F, bool is_written = F::traits.biased && F::traits.part == BackwardPart::by_query>
class BiasGradient {
 public:
  __device__ BiasGradient(const FusedBackwardArgs&, long long) {}
  __device__ void store(int, float) const {}
};

template <class F>
class BiasGradient<F, true> {
  using Type = Element<F::traits.element>;
  using Stored = typename Type::Storage;

 public:
  __device__ BiasGradient(const FusedBackwardArgs& args, long long head)
      : gradient_(static_cast<const unsigned char*>(args.bias_gradient)) {
    if (ColumnPart<F>::number() > 0) gradient_ = nullptr;
    if (gradient_ == nullptr) return;
    gradient_ += sizeof(Stored) * (head * args.elements);
    make_opaque(gradient_);  // else every store multiplies by the elements
  }

  __device__ bool is_wanted() const { return gradient_ != nullptr; }
  __device__ void store(int place, float gradient) const {
    if (is_wanted())
      reinterpret_cast<Stored*>(const_cast<unsigned char*>(gradient_))[place] = Type::from_float(gradient);
  }

 private:
  const unsigned char* gradient_;
};

template <class F>
class GradientAgain {
  static constexpr auto traits = F::traits;
  static constexpr bool by_key = traits.part == BackwardPart::by_key;
  using Type = Element<traits.element>;
  using Stored = typename Type::Storage;
  static constexpr int key_parts = (traits.key_size + 31) / 32, value_parts = (traits.value_size + 31) / 32;

 public:
  __device__ GradientAgain(const FusedBackwardArgs& args, long long head, long long row)
      : args_(args), head_(head), row_(row), lane_(threadIdx.x % 32), rates_(args.walk) {}

  /// Every lane of the warp comes here.
  __device__ void make() {
    const FusedAttentionArgs& walk = args_.walk;
    load(own_key_, walk.query, head_ * walk.query_stride + row_ * walk.query_leading, walk.key_size);
    load(own_value_, args_.own_values, head_ * args_.own_values_stride + row_ * args_.own_values_leading,
         walk.value_size);
    if constexpr (traits.part == BackwardPart::by_query) numbers_ = load_numbers(args_, head_, row_);
    const long long first_head = tile_head<F>(walk, head_);
#pragma unroll 1
    for (int turn = 0; turn < turns<F>(walk); ++turn) {
      const Dropout<F> dropout(walk, query_head<F>(walk, head_, turn));
#pragma unroll 1
      for (int i = walk.row_offsets[row_]; i < walk.row_offsets[row_ + 1]; ++i) {
        const long long other = static_cast<const typename Index<traits.index>::Storage*>(walk.column_indices)[i];
        if (sees<F>(walk, row_, other)) add(first_head + turn, other, i, dropout);
      }
    }
    if constexpr (traits.part == BackwardPart::rows) {
      if (lane_ == 0) store_numbers(args_, head_, row_, origin_, total_, weighted_);
    } else {
      using Part = ColumnPart<F>;
      store<Part::key_size>(key_sums_, args_.key_gradient, walk.query_stride, walk.query_leading, walk.key_size,
                            walk.scale);
      if constexpr (by_key)
        store<Part::value_size>(value_sums_, args_.value_gradient, args_.own_values_stride, args_.own_values_leading,
                                walk.value_size, kept_scale<F>(walk));
    }
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

  template <int parts>
  static __device__ float product(const float (&a)[parts], const float (&b)[parts]) {
    float sum = 0.0F;
#pragma unroll
    for (int p = 0; p < parts; ++p) sum = fmaf(a[p], b[p], sum);
    return warp_sum<1>(sum);
  }

  /// 0 of a problem without biases.
  __device__ float bias(long long head, int place) const {
    if constexpr (traits.biased) return HeadBias<F>(args_.walk, by_key ? head : head_).at(place);
    else return 0.0F;
  }

  __device__ void note_bias_gradient(int place, float gradient) const {
    if (lane_ == 0) BiasGradient<F>(args_, head_).store(place, gradient);
  }

  /// A line of a tile, and its head; `place`: among the mask's elements as they are walked.
  __device__ void add(long long head, long long other, int place, const Dropout<F>& dropout) {
    const FusedAttentionArgs& walk = args_.walk;
    const float bias_of_score = bias(head, place);
    // What it removes may hold anything.
    if (traits.biased && bias_of_score == -attention_infinity()) return note_bias_gradient(place, 0.0F);
    float key[key_parts], value[value_parts];
    load(key, walk.key, head * walk.key_stride + other * walk.key_leading, walk.key_size);
    load(value, walk.value, head * walk.value_stride + other * walk.value_leading, walk.value_size);
    const Curve curve = rates_.curve(product(own_key_, key) * (ScoreRates<F>::flips_scores(walk) ? -1.0F : 1.0F));
    const float score = traits.biased ? rates_.biased(curve.value, bias_of_score) : curve.value;
    const bool kept = dropout.keeps(row_, other);
    const float gradient = kept ? product(own_value_, value) * kept_scale<F>(walk) : 0.0F;
    if constexpr (traits.part == BackwardPart::rows) {
      const float origin = fmaxf(origin_, score * rates_.exponent);
      const float from = origin == -attention_infinity() ? 0.0F : origin;
      const float factor = fast_exp2(origin_ - from), exponential = fast_exp2(fmaf(score, rates_.exponent, -from));
      origin_ = origin;
      total_ = fmaf(total_, factor, exponential);
      weighted_ = fmaf(weighted_, factor, exponential * gradient);
    } else {
      if constexpr (by_key) numbers_ = load_numbers(args_, head, other);
      const float probability = fast_exp2(fmaf(score, rates_.exponent, -numbers_.logarithm));
      const float score_gradient = probability * (curve.slope * (gradient - numbers_.inner));
      if constexpr (traits.biased) note_bias_gradient(place, probability * (gradient - numbers_.inner));
#pragma unroll
      for (int p = 0; p < key_parts; ++p) key_sums_[p] = fmaf(score_gradient, key[p], key_sums_[p]);
      if constexpr (by_key) {
#pragma unroll
        for (int p = 0; p < value_parts; ++p)
          if (kept) value_sums_[p] = fmaf(probability, value[p], value_sums_[p]);
      }
    }
  }

  /// The block's part of a line [size], `width` elements of those that `sums` has.
  template <int width, int parts>
  __device__ void store(const float (&sums)[parts], void* matrix, long long stride, long long leading, int size,
                        float factor) const {
    Stored* const line = static_cast<Stored*>(matrix) + head_ * stride + row_ * leading;
    const int first = ColumnPart<F>::number() * width, end = min(size, first + width);
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      const int at = static_cast<int>(lane_) + 32 * p;
      if (at >= first && at < end) line[at] = Type::from_float(sums[p] * factor);
    }
  }

  const FusedBackwardArgs& args_;
  const long long head_;
  const long long row_;
  const unsigned lane_;
  const ScoreRates<F> rates_;
  float own_key_[key_parts];
  float own_value_[value_parts];
  QueryNumbers numbers_ = {};
  float origin_ = -attention_infinity();
  float total_ = 0.0F;
  float weighted_ = 0.0F;
  float key_sums_[key_parts] = {};
  float value_sums_[value_parts] = {};
};

}  // namespace vostok
