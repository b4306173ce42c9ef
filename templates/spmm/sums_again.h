// Sums that tensor cores left unfit for C, made again from what A names alone: in f32, the same bits each time.
//
// Fragments multiply elements that A lacks as zeros. Where B has NaN or an infinity there, so does the sum; where B's
// are finite, sums are. What cannot vouch for itself was made NaN (spmm/column_losses.h). So it is enough to look at
// sums that are not finite. A warp makes one of them at a time, its lanes over the k blocks of the row: slow, and rare.
#pragma once

#include "abi/sums_again.h"
#include "parts/finite.h"
#include "parts/warp.h"
#include "spmm/named_elements.h"
#include "topology/block_sum.h"

namespace vostok {

/// Which sums of a lane's fragments (parts/mma.h) are not finite.
template <int fragments>
class UnfitSums {
 public:
  static constexpr int words = (fragments + 7) / 8;

  __device__ void note(int fragment, const float (&sums)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (!is_finite(sums[i])) bits_[fragment / 8] |= 1U << (fragment % 8 * 4 + i);
  }

  __device__ bool none() const {
    unsigned any = 0;
#pragma unroll
    for (const unsigned bits : bits_) any |= bits;
    return any == 0;
  }
  /// Of fragments 8 * number and on, four bits each. The number may be any: it is compared, so that bits stay in
  /// registers.
  __device__ unsigned word(int number) const {
    unsigned found = 0;
#pragma unroll
    for (int i = 0; i < words; ++i)
      if (i == number) found = bits_[i];
    return found;
  }

 private:
  unsigned bits_[words] = {};
};

/// Of one product. `F` has the type of B and `certify` among its traits, `Args` its strips and `whole_dense`.
template <class F, bool certifies = F::traits.certify>
class SumsAgain {
  static constexpr StripsKind kind = strips_kind(F::traits, F::config);
  static constexpr unsigned everyone = 0xffffffffU;
  static constexpr int together = 4;  ///< elements that a lane loads at once
  using Dense = Element<F::traits.element>;

 public:
  template <class Args>
  __device__ SumsAgain(const Args& args, unsigned product)
      : strips_(args.strips), dense_(args.whole_dense), m_(args.m), n_(args.n), product_(product) {}

  /// Makes again what the lanes have noted, of fragments from place_of(number) on: store(row, column, sum) for each sum
  /// that C has. Every lane of the warp calls it.
  template <int fragments, class PlaceOf, class Store>
  __device__ void make(const UnfitSums<fragments>& unfit, PlaceOf place_of, Store store) const {
    if (__all_sync(everyone, unfit.none())) [[likely]]
      return;
    __syncwarp();  // other lanes may have stored, with theirs, what is stored anew
    const unsigned lane = threadIdx.x % 32;
#pragma unroll 1
    for (int word = 0; word < unfit.words; ++word) {
      const unsigned own = unfit.word(word);
#pragma unroll 1
      for (unsigned lanes = __ballot_sync(everyone, own != 0); lanes != 0; lanes &= lanes - 1) {
        const int owner = __ffs(static_cast<int>(lanes)) - 1;
#pragma unroll 1
        for (unsigned left = __shfl_sync(everyone, own, owner); left != 0; left &= left - 1) {
          const int bit = __ffs(static_cast<int>(left)) - 1;
          const auto place = place_of(word * 8 + bit / 4);
          const long long row = place.row + owner / 4 + bit % 4 / 2 * 8;
          const long long column = place.column + owner % 4 * 2 + bit % 2;
          if (row >= m_ || column >= n_) continue;
          const float sum = made_again(row, column);
          if (static_cast<int>(lane) == owner) store(row, column, sum);
        }
      }
    }
  }

 private:
  /// Every lane has the result.
  __device__ float made_again(long long row, long long column) const {
    const PackedStrips strips = packed_set(strips_, product_);
    return warp_sum<1>(kind.marked ? of_exact_values(strips, row, column) : of_strips(strips, row, column));
  }

  /// The k block of a row's strips.
  static __device__ const unsigned char* strip_of(const PackedStrips& strips, long long row, unsigned block) {
    const unsigned unit =
        load_global(strips.offsets + static_cast<long long>(block) * strips.row_strips + row / packed_strip_rows());
    return strips.data + static_cast<unsigned long long>(unit) * packed_unit_bytes();
  }
  /// B's element k of the column.
  __device__ float dense_at(long long k, long long column) const {
    const auto* const first = static_cast<const typename Dense::Storage*>(dense_.first) + product_ * dense_.stride;
    return Dense::to_float(load_global(first + k * dense_.row_step + column * dense_.column_step));
  }

  /// The lane's share of the sum, from values as they are: those of a row are numbered by ascending column.
  __device__ float of_exact_values(const PackedStrips& strips, long long row, long long column) const {
    int number = load_own(strips.exact.firsts + row);  // of the first of the blocks at hand
    float sum = 0.0F;
#pragma unroll 1
    for (unsigned first = 0; first < strips.k_blocks; first += 32) {
      const unsigned block = first + threadIdx.x % 32;
      unsigned long long named = 0;
      if (block < strips.k_blocks) {
        visit_named<kind>(strip_of(strips, row, block), static_cast<int>(row % packed_strip_rows()),
                          [&](int k, float) { named |= 1ULL << k; });
        if constexpr (kind.grain == PackedGrain::four) named |= named_left_over(strips.left_over, row, block);
      }
      const int own = __popcll(named);
      const int through = warp_inclusive_sum(own);
      int at = number + through - own;
      number += __shfl_sync(everyone, through, 31);
      float few = 0.0F;  // a block's: sums of more would round too often
#pragma unroll 1
      for (; named != 0; at += together) {
        int k[together];
        float values[together], dense[together];
#pragma unroll
        for (int i = 0; i < together; ++i) {
          k[i] = __ffsll(static_cast<long long>(named)) - 1;
          named &= named - 1;
          if (k[i] < 0) continue;
          const int place = strips.exact.places != nullptr ? load_global(strips.exact.places + at + i) : at + i;
          values[i] = load_own(strips.exact.values + place);
          dense[i] = dense_at(static_cast<long long>(block) * packed_strip_columns() + k[i], column);
        }
#pragma unroll
        for (int i = 0; i < together; ++i)
          if (k[i] >= 0) few = fmaf(values[i], dense[i], few);
      }
      sum += few;
    }
    return sum;
  }

  /// Which columns of a k block a row leaves over.
  static __device__ unsigned long long named_left_over(const LeftOver& left, long long row, unsigned block) {
    const unsigned end = load_global(left.row_starts + row + 1);
    unsigned long long named = 0;
#pragma unroll 1
    for (unsigned first = load_global(left.row_starts + row); first < end; first += together) {
      unsigned columns[together];
#pragma unroll
      for (unsigned i = 0; i < together; ++i)
        columns[i] = first + i < end ? packed_left_column(load_own(&left.entries[first + i].place)) : 0xffffffffU;
#pragma unroll
      for (const unsigned column : columns)
        if (column / packed_strip_columns() == block) named |= 1ULL << column % packed_strip_columns();
    }
    return named;
  }

  /// The lane's share of the sum, from strips and what they leave over.
  __device__ float of_strips(const PackedStrips& strips, long long row, long long column) const {
    const auto times = [&](float value, long long k) { return value * dense_at(k, column); };
    float scale = 1.0F;
    if constexpr (!kind.sparse && packed_scales_rows(kind.mode)) scale = load_own(strips.row_scales + row);
    float sum = 0.0F;
#pragma unroll 1
    for (unsigned block = threadIdx.x % 32; block < strips.k_blocks; block += 32) {
      float few = 0.0F;  // a block's: sums of more would round too often
      visit_named<kind>(strip_of(strips, row, block), static_cast<int>(row % packed_strip_rows()),
                        [&](int k, float value) {
                          few += times(value * scale, static_cast<long long>(block) * packed_strip_columns() + k);
                        });
      sum += few;
    }
    if constexpr (kind.grain == PackedGrain::four) sum += left_over(strips.left_over, row, times);
    return sum;
  }

  /// The lane's share of what the row leaves over.
  template <class Times>
  static __device__ float left_over(const LeftOver& left, long long row, Times times) {
    using Entry = Vector<unsigned, 2>;  // a LeftEntry
    const unsigned end = load_global(left.row_starts + row + 1);
    float sum = 0.0F;
#pragma unroll 1
    for (unsigned i = load_global(left.row_starts + row) + threadIdx.x % 32; i < end; i += 32) {
      const Entry entry = load_own(reinterpret_cast<const Entry*>(left.entries) + i);
      sum += times(__builtin_bit_cast(float, entry.at[1]), packed_left_column(entry.at[0]));
    }
    return sum;
  }

  const PackedStrips& strips_;
  const WholeDense& dense_;
  long long m_;
  long long n_;
  unsigned product_;
};

/// Sums are stored as they are.
template <class F>
class SumsAgain<F, false> {
 public:
  template <class Args>
  __device__ SumsAgain(const Args&, unsigned) {}
};

}  // namespace vostok
