// Accumulator fragments on their way to C, by way of the epilogue: where and as C lies.
#pragma once

#include "parts/element.h"
#include "parts/epilogue.h"
#include "parts/loads.h"

namespace vostok {

/// One product's C. `F` has the epilogue and C's type, layout and alignment among its traits, `Args` its operands.
template <class F>
class FragmentOutput {
  static constexpr auto traits = F::traits;
  static constexpr bool row_major = traits.output_layout == Layout::row_major;
  static constexpr bool stream = F::config.stream_output;
  using Output = Element<traits.output>;
  using Stored = typename Output::Storage;
  using Pair = Vector<Stored, 2>;
  /// Whether two neighbouring columns can be stored at once: fragments have even ones first.
  static constexpr bool pairs = row_major && traits.output_alignment >= static_cast<int>(sizeof(Pair));

 public:
  template <class Args>
  __device__ FragmentOutput(const Args& args, unsigned product)
      : scale_and_bias_{args.bias, scale_factor<traits.scale>(args.scale, args.device_scale)},
        output_(static_cast<Stored*>(args.output) + product * args.output_stride),
        residual_(static_cast<const Stored*>(args.residual) + product * args.output_stride),
        m_(args.m),
        n_(args.n),
        leading_(args.output_leading) {}

  /// Stores what lies in C of a fragment whose first row and column these are.
  __device__ void store(long long first_row, long long first_column, unsigned lane, const float (&sums)[4]) const {
    const long long column = first_column + lane % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const long long row = first_row + lane / 4 + 8 * half;
      if (row >= m_ || column >= n_) continue;
      const float row_bias = scale_and_bias_.row_bias(static_cast<unsigned>(row));
      const float values[2] = {sums[2 * half], sums[2 * half + 1]};
      if (column + 1 < n_) store_some<2>(row, column, row_bias, values);
      else store_some<1>(row, column, row_bias, values);
    }
  }

 private:
  __device__ long long place(long long row, long long column) const { return row_major ? row * leading_ + column : column * leading_ + row; }

  template <bool own>
  static __device__ Stored load_one(const Stored* from) {
    if constexpr (own) return load_own(from);
    else return load_global(from);
  }

  /// Adds what the matrix holds; `own`: the matrix is C itself.
  template <bool own, int count>
  __device__ void add(float (&values)[2], const Stored* matrix, long long at) const {
    if constexpr (pairs && count == 2) {
      const auto* const from = reinterpret_cast<const Pair*>(matrix + at);
      Pair pair;
      if constexpr (own) pair = load_own(from);
      else pair = load_global(from);
#pragma unroll
      for (int i = 0; i < 2; ++i) values[i] += Output::to_float(pair.at[i]);
    } else {
#pragma unroll
      for (int i = 0; i < count; ++i) values[i] += Output::to_float(load_one<own>(matrix + at + i * (row_major ? 1 : leading_)));
    }
  }

  template <int count>
  __device__ void store_some(long long row, long long column, float row_bias, const float (&sums)[2]) const {
    const long long at = place(row, column);
    float values[2];
#pragma unroll
    for (int i = 0; i < count; ++i) values[i] = scale_and_bias_(sums[i], row_bias, column + i);
    if constexpr (traits.residual) add<false, count>(values, residual_, at);
    if constexpr (traits.accumulate) add<true, count>(values, output_, at);
    Pair pair;
#pragma unroll
    for (int i = 0; i < count; ++i) pair.at[i] = Output::from_float(activated<traits.activation>(values[i]));
    if constexpr (pairs && count == 2) {
      store_global<stream>(reinterpret_cast<Pair*>(output_ + at), pair);
    } else {
#pragma unroll
      for (int i = 0; i < count; ++i) store_global<stream>(output_ + at + i * (row_major ? 1 : leading_), pair.at[i]);
    }
  }

  ScaleAndBias<traits.bias, traits.scale> scale_and_bias_;
  Stored* output_;
  const Stored* residual_;
  long long m_;
  long long n_;
  long long leading_;
};

}  // namespace vostok
