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
  /// Whether two neighbouring columns are stored at once. Fragments have even ones first, and the alignment divides the
  /// length of rows as well: the last column has its neighbour.
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
    for (int half = 0; half < 2; ++half)
      row_bias_[half] = row(half) < m_ ? scale_and_bias_.row_bias(static_cast<unsigned>(row(half))) : 0.0F;
  }

  /// Makes sums again that were unfit for C, and stores them: those that the lane has noted, of fragments from
  /// place_of(number) on. Every lane of the warp calls it.
  template <int fragments, class PlaceOf>
  __device__ void make_again(const UnfitSums<fragments>& unfit, PlaceOf place_of) const {
    again_.make(unfit, place_of, [&](long long row, long long column, float sum) {
      const float row_bias = scale_and_bias_.row_bias(static_cast<unsigned>(row));
      store_one(row_major ? row * leading_ + column : column * leading_ + row, column, row_bias, sum);
    });
  }

  /// Stores what lies in C of those rows' fragment from this column. Of sums that are added to C, which is read once,
  /// only those that are fit.
  __device__ void store(long long first_column, const float (&sums)[4]) const {
    constexpr bool all = !F::traits.certify || !traits.accumulate;
    const long long column = first_column + lane_ % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (row(half) >= m_ || column >= n_) continue;
      const long long at = row_major ? row(half) * leading_ + column : column * leading_ + row(half);
      const float first = sums[2 * half];
      const float second = sums[2 * half + 1];
      if constexpr (pairs && all) {
        store_pair(at, column, row_bias_[half], first, second);
      } else {
        if (all || is_finite(first)) store_one(at, column, row_bias_[half], first);
        if (column + 1 < n_ && (all || is_finite(second)))
          store_one(at + (row_major ? 1 : leading_), column + 1, row_bias_[half], second);
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

/// Where a fragment begins in C.
struct FragmentPlace {
  long long row;
  long long column;
};

/// Stores every fragment of a warp that visit(store) has: store(q, o, sums) is of the 16 rows q and the eight columns
/// o. Sums that are unfit for C are made again in the end, by one loop: in its place between the stores there would be
/// as many loops, and spilled registers.
template <class F, int strips, int octets, class Visit>
__device__ inline void store_fragments(FragmentOutput<F>& output, long long first_row, long long first_column,
                                       Visit visit) {
  [[maybe_unused]] UnfitSums<strips * octets> unfit;
  visit([&](int q, int o, const float(&sums)[4]) {
    if constexpr (F::traits.certify) unfit.note(q * octets + o, sums);
    output.enter_rows(first_row + 16 * q);
    output.store(first_column + 8 * o, sums);
  });
  if constexpr (F::traits.certify)
    output.make_again(unfit, [&](int fragment) -> FragmentPlace {
      return {first_row + fragment / octets * 16, first_column + fragment % octets * 8};
    });
}

/// The same of one fragment.
template <class F>
__device__ inline void store_fragment(FragmentOutput<F>& output, long long row, long long column,
                                      const float (&sums)[4]) {
  store_fragments<F, 1, 1>(output, row, column, [&](auto store) { store(0, 0, sums); });
}

}  // namespace vostok
