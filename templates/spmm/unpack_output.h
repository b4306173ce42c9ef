// Accumulator fragments on their way to C, by way of the epilogue: where and as C lies.
#pragma once

#include "parts/element.h"
#include "parts/epilogue.h"
#include "parts/finite.h"
#include "parts/loads.h"
#include "spmm/sums_again.h"

namespace vostok {

/// Asks for the biases of strips of 16 rows, two threads a strip, since stores at the end would wait for them.
/// After follow_previous_launch().
template <class F, class Args>
__device__ inline void expect_biases(const Args& args, long long first_strip, unsigned strips, unsigned thread) {
  if constexpr (F::traits.bias == Bias::per_row) {
    constexpr unsigned sector_rows = 8;
    const long long row = first_strip * 16 + thread * sector_rows;
    if (thread < 2 * strips && row < args.m) expect_global(bias_place<F::traits.bias_element>(args.bias, row));
  }
}

/// One product's C. `F` has the epilogue and C's type, layout and alignment among its traits, `Args` its operands.
template <class F>
class FragmentOutput {
  static constexpr auto traits = F::traits;
  static constexpr bool row_major = traits.output_layout == Layout::row_major;
  static constexpr bool stream = F::config.stream_output;
  using Output = Element<traits.output>;
  using Stored = typename Output::Storage;
  using Pair = Vector<Stored, 2>;
  /// Whether two neighbouring columns are stored at once. Fragments have even ones first, and the alignment divides the length
  /// of rows as well: the last column has its neighbour.
  static constexpr bool pairs = row_major && traits.output_alignment >= static_cast<int>(sizeof(Pair));

 public:
  template <class Args>
  __device__ FragmentOutput(const Args& args, unsigned product, unsigned lane)
      : again_(args, product),
        lane_(lane),
        scale_and_bias_{args.bias, scale_factor<traits.scale>(args.scale, args.device_scale)},
        output_(static_cast<Stored*>(args.output) + product * args.output_stride),
        residual_(static_cast<const Stored*>(args.residual) + product * args.output_stride),
        m_(args.m),
        n_(args.n),
        leading_(args.output_leading) {}

  /// Goes on with fragments of the 16 rows from this one. Biases are loaded once: each fragment would wait for its own.
  __device__ void enter_rows(long long first_row) {
    if (first_row == first_row_) return;
    first_row_ = first_row;
#pragma unroll
    for (int half = 0; half < 2; ++half) row_bias_[half] = row(half) < m_ ? scale_and_bias_.row_bias(static_cast<unsigned>(row(half))) : 0.0F;
  }

  /// The same as store(), with what is unfit for C made again. Every lane of the warp calls it.
  __device__ void store_mended(long long first_column, const float (&found)[4]) const {
    float sums[4] = {found[0], found[1], found[2], found[3]};
    again_.mend(sums, first_row_, first_column);
    store(first_column, sums);
  }

  /// Stores what lies in C of those rows' fragment from this column.
  __device__ void store(long long first_column, const float (&sums)[4]) const {
    const long long column = first_column + lane_ % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (row(half) >= m_ || column >= n_) continue;
      const long long at = row_major ? row(half) * leading_ + column : column * leading_ + row(half);
      if constexpr (pairs) {
        store_pair(at, column, row_bias_[half], sums[2 * half], sums[2 * half + 1]);
      } else {
        store_one(at, column, row_bias_[half], sums[2 * half]);
        if (column + 1 < n_) store_one(at + (row_major ? 1 : leading_), column + 1, row_bias_[half], sums[2 * half + 1]);
      }
    }
  }

 private:
  /// The lane's row in a half of eight.
  __device__ long long row(int half) const { return first_row_ + lane_ / 4 + 8 * half; }

  __device__ void store_one(long long at, long long column, float row_bias, float sum) const {
    float value = scale_and_bias_(sum, row_bias, column);
    if constexpr (traits.residual) value += Output::to_float(load_global(residual_ + at));
    if constexpr (traits.accumulate) value += Output::to_float(load_own(output_ + at));
    store_global<stream>(output_ + at, Output::from_float(activated<traits.activation>(value)));
  }

  __device__ void store_pair(long long at, long long column, float row_bias, float first, float second) const {
    float values[2] = {scale_and_bias_(first, row_bias, column), scale_and_bias_(second, row_bias, column + 1)};
    if constexpr (traits.residual) add(values, load_global(reinterpret_cast<const Pair*>(residual_ + at)));
    if constexpr (traits.accumulate) add(values, load_own(reinterpret_cast<const Pair*>(output_ + at)));
    Pair pair;
#pragma unroll
    for (int i = 0; i < 2; ++i) pair.at[i] = Output::from_float(activated<traits.activation>(values[i]));
    store_global<stream>(reinterpret_cast<Pair*>(output_ + at), pair);
  }

  static __device__ void add(float (&values)[2], Pair pair) {
#pragma unroll
    for (int i = 0; i < 2; ++i) values[i] += Output::to_float(pair.at[i]);
  }

  SumsAgain<F> again_;
  unsigned lane_;
  long long first_row_ = -1;
  float row_bias_[2] = {};
  ScaleAndBias<traits.bias, traits.scale, traits.bias_element> scale_and_bias_;
  Stored* output_;
  const Stored* residual_;
  long long m_;
  long long n_;
  long long leading_;
};

/// Stores every fragment that visit(store) has: store(first_row, first_column, sums). A warp that finds some unfit for C visits all of them again:
/// one vote for each would keep their stores from running into one another.
template <class F, class Visit>
__device__ inline void store_fragments(FragmentOutput<F>& output, Visit visit) {
  const auto store_mended = [&](long long first_row, long long first_column, const float(&sums)[4]) {
    output.enter_rows(first_row);
    output.store_mended(first_column, sums);
  };
  if constexpr (F::config.certify && F::traits.accumulate) {  // C may be read only once
    visit(store_mended);
  } else {
    bool fit = true;
    visit([&](long long first_row, long long first_column, const float(&sums)[4]) {
      output.enter_rows(first_row);
      output.store(first_column, sums);
      if constexpr (F::config.certify) fit = fit && all_finite(sums);
    });
    if constexpr (F::config.certify)
      if (!__all_sync(0xffffffffU, fit)) visit(store_mended);
  }
}

}  // namespace vostok
