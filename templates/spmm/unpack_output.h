// Accumulator fragments on their way to C, by way of the epilogue: where and as C lies.
#pragma once

#include "parts/element.h"
#include "parts/epilogue.h"
#include "parts/finite.h"
#include "parts/loads.h"
#include "spmm/fragment_pieces.h"
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
  template <int run>
  using Pieces = FragmentPieces<traits.output, traits.output_layout, run>;

  /// Whether C takes pieces of `length` elements. The alignment divides the length of lines as well: a piece is in C or
  /// outside.
  static constexpr bool takes(int length) {
    return length * size_of(traits.output) <= (traits.output_alignment < 16 ? traits.output_alignment : 16);
  }
  /// Whether neighbours of a line are stored at once.
  static constexpr bool by_pieces = row_major ? takes(2) : size_of(traits.output) == 2 && takes(4);

 public:
  /// Of so many neighbouring fragments, how many are stored at once.
  static constexpr int run(int side_by_side) {
    if (!row_major) return 1;
    if (side_by_side % 4 == 0 && takes(8)) return 4;
    return side_by_side % 2 == 0 && takes(4) ? 2 : 1;
  }

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
      store_one(place(row, column), column, row_bias, sum);
    });
  }

  /// Stores what lies in C of those rows' fragments from this column on. Of sums that are added to C, which is read
  /// once, only those that are fit. Every lane of the warp calls it.
  template <int run>
  __device__ void store(long long first_column, const float (&sums)[run][4]) const {
    if constexpr (by_pieces) {
      store_pieces(first_column, sums);
    } else {
      static_assert(run == 1, "neighbours are stored one by one");
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const long long column = first_column + lane_ % 4 * 2 + i % 2;
        if (row(i / 2) >= m_ || column >= n_ || (adds_once && !is_finite(sums[0][i]))) continue;
        store_one(place(row(i / 2), column), column, row_bias_[i / 2], sums[0][i]);
      }
    }
  }

 private:
  /// Whether a sum that is made again must find C as it was.
  static constexpr bool adds_once = traits.certify && traits.accumulate;

  /// The lane's row in a half of eight.
  __device__ long long row(int half) const { return first_row_ + lane_ / 4 + 8 * half; }
  __device__ long long place(long long row, long long column) const {
    return row_major ? row * leading_ + column : column * leading_ + row;
  }

  __device__ void store_one(long long at, long long column, float row_bias, float sum) const {
    float value = scale_and_bias_(sum, row_bias, column);
    if constexpr (traits.residual) value += Output::to_float(load_global(residual_ + at));
    if constexpr (traits.accumulate) value += Output::to_float(load_own(output_ + at));
    store_global<stream>(output_ + at, Output::from_float(activated<traits.activation>(value)));
  }

  template <int run>
  __device__ void store_pieces(long long first_column, const float (&sums)[run][4]) const {
    using Pair = typename Pieces<run>::Pair;
    using Piece = typename Pieces<run>::Piece;
    [[maybe_unused]] Pair residual[run][2], before[run][2];
    if constexpr (traits.residual)
      load_pieces(residual, first_column, [&](const Piece* piece) { return load_global(piece); }, residual_);
    if constexpr (traits.accumulate)
      load_pieces(before, first_column, [&](const Piece* piece) { return load_own(piece); }, output_);
    Pair pairs[run][2];
#pragma unroll
    for (int f = 0; f < run; ++f)
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        float values[2];
#pragma unroll
        for (int part = 0; part < 2; ++part) {
          const int i = Pieces<run>::sum(pair, part);
          const long long column = first_column + 8 * f + lane_ % 4 * 2 + i % 2;
          // A bias of columns is read: only of those that exist.
          const bool exists = traits.bias != Bias::per_column || column < n_;
          float value = exists ? scale_and_bias_(sums[f][i], row_bias_[i / 2], column) : 0.0F;
          if constexpr (traits.residual) value += float_of_pair<traits.output>(residual[f][pair], part);
          if constexpr (traits.accumulate) value += float_of_pair<traits.output>(before[f][pair], part);
          values[part] = activated<traits.activation>(value);
        }
        pairs[f][pair] = stored_pair<traits.output>(values);
        if constexpr (adds_once)
#pragma unroll
          for (int part = 0; part < 2; ++part)
            if (!is_finite(sums[f][Pieces<run>::sum(pair, part)]))
              pairs[f][pair] = with_part_of<traits.output>(pairs[f][pair], before[f][pair], part);
      }
    Piece pieces[Pieces<run>::pieces];
    Pieces<run>::gather(pieces, pairs);
    for_pieces<run>(first_column, [&](int i, long long at) {
      store_global<stream>(reinterpret_cast<Piece*>(output_ + at), pieces[i]);
    });
  }

  /// The pairs of fragments from the pieces of a matrix that lies as C does. Those outside are zeros.
  template <int run, class Load>
  __device__ void load_pieces(StoredPair<traits.output> (&pairs)[run][2], long long first_column, Load load,
                              const Stored* matrix) const {
    typename Pieces<run>::Piece pieces[Pieces<run>::pieces] = {};
    for_pieces<run>(first_column, [&](int i, long long at) {
      pieces[i] = load(reinterpret_cast<const typename Pieces<run>::Piece*>(matrix + at));
    });
    Pieces<run>::scatter(pairs, pieces);
  }

  /// visit(i, place) for each of the lane's pieces that C has.
  template <int run, class Visit>
  __device__ void for_pieces(long long first_column, Visit visit) const {
#pragma unroll
    for (int i = 0; i < Pieces<run>::pieces; ++i) {
      const long long row = first_row_ + Pieces<run>::row(i, lane_);
      const long long column = first_column + Pieces<run>::column(i, lane_);
      if (row < m_ && column < n_) visit(i, place(row, column));
    }
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

/// Stores every fragment of a warp that visit(store) has: store(q, o, sums) is of the 16 rows q and of `run` octets of
/// columns from o on. Sums that are unfit for C are made again in the end, by one loop: in its place between the stores
/// there would be as many loops, and spilled registers.
template <class F, int strips, int octets, int run, class Visit>
__device__ inline void store_fragments(FragmentOutput<F>& output, long long first_row, long long first_column,
                                       Visit visit) {
  [[maybe_unused]] UnfitSums<strips * octets> unfit;
  visit([&](int q, int o, const float(&sums)[run][4]) {
    if constexpr (F::traits.certify)
#pragma unroll
      for (int i = 0; i < run; ++i) unfit.note(q * octets + o + i, sums[i]);
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
  const float alone[1][4] = {{sums[0], sums[1], sums[2], sums[3]}};
  store_fragments<F, 1, 1, 1>(output, row, column, [&](auto store) { store(0, 0, alone); });
}

}  // namespace vostok
