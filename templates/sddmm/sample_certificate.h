// The certificate of a sum of split operands, and how a sum that fails it is made again.
//
// Elements that lose more than their rounding lose at most 2^-25 each, as they are scaled. What m of them take from a
// sum is at most 2^-25 times m of the other row's largest, or times the sum of all its magnitudes: marks have bounds of
// both (abi/sample_operands.h). A sum that is 2^18 times as large errs by less than the contract allows (2^10 times
// under tf32, which sums single terms). A smaller one, or one that is not finite, vouches for nothing. It is made again
// by a warp from the operands as they are, in f32: the same bits each time.
//
// Terms of TF32 have no scales. An element, however small, loses at most 2^-136 in them, so that a sum loses at most
// that times the magnitudes of its row and its column. Below f32's smallest normal number nothing is promised, and no
// loss is of account.
#pragma once

#include "abi/tensor_sample.h"
#include "parts/finite.h"
#include "parts/loads.h"
#include "parts/logarithm.h"
#include "parts/warp.h"
#include "sddmm/magnitude_code.h"
#include "sddmm/tensor_sample_walk.h"
#include "sddmm/tile_info.h"

namespace vostok {

/// For the sums of one tile.
template <class F>
class SampleCertificate {
  static constexpr auto config = F::config;

 public:
  static constexpr bool exists = certifies(F::traits);

  __device__ SampleCertificate(const TensorSampleArgs& args, const SamplePart& part, const TileInfo<F>& info)
      : SampleCertificate(args, part, info, info.sure_sum) {}
  /// Every sum of the tile that is at least `sure_sum` is good.
  __device__ SampleCertificate(const TensorSampleArgs& args, const SamplePart& part, const TileInfo<F>& info,
                               float sure_sum)
      : args_(args), part_(part), info_(info), sure_sum_(sure_sum) {}

  /// From which magnitude on a sum of terms of TF32 is good, where codes of its row's and its column's magnitudes are
  /// at most that.
  static __device__ float bar_of_code(unsigned code) {
    constexpr int lost = -136, least_of_account = -126 - ceil_log2(F::config.n_split);
    const int magnitudes = static_cast<int>(code) - 127 + 1;  // of both
    if (lost + magnitudes <= least_of_account) return 0.0F;
    return code == largest_magnitude_code() ? __builtin_bit_cast(float, 0x7f800000U)  // infinity
                                            : power(lost + magnitudes - sample_loss_exponent(config.mode));
  }

  /// Of a sum of the tile, wherever it is, as the tensor cores left it: few sums that are good are below.
  __device__ bool surely_holds(float sum) const { return fabsf(sum) >= sure_sum_ && is_finite(sum); }
  /// The same of the sum at a place, exactly.
  __device__ bool holds(float sum, unsigned place) const { return fabsf(sum) >= bar(place) && is_finite(sum); }

  /// TileInfo::sure_sum of a tile, from its marks, of sums over n of the part. Every lane of the warp takes part.
  static __device__ void note_sure_sum(long long n, TileInfo<F>& info) {
    if constexpr (marks_rows(F::traits, config)) {
      float sure_sum = 0.0F;
      if (__any_sync(0xffffffffU, has_code(info.row_marks) || has_code(info.column_marks))) {
        const SampleMark row = most_of(info.row_marks);
        const SampleMark column = most_of(info.column_marks);
        sure_sum = loss(n, row, column.mean) + loss(n, column, row.mean);
      }
      if (threadIdx.x % 32 == 0) info.sure_sum = sure_sum;
    }
  }

  /// The sum at a place, of the part's n. Every lane of the warp takes part, and has the result.
  __device__ float made_again(unsigned place) const {
    constexpr unsigned products_at_once = 32;  // of a lane: sums of more would round too often
    const float* const lhs =
        row_of(args_.lhs.rows, info_.tile.row_tile * tile_rows(config) + place / tile_columns(config));
    const float* const rhs =
        row_of(args_.rhs.rows, info_.tile.column_tile * tile_columns(config) + place % tile_columns(config));
    const long long begin = part_.first();
    const long long end = begin + part_.template length<F>(args_);
    float sum = 0.0F;
#pragma unroll 1
    for (long long first = begin + threadIdx.x % 32; first < end; first += 32 * products_at_once) {
      const long long most = first + 32 * products_at_once;
      float few = 0.0F;
#pragma unroll 1
      for (long long i = first; i < (most < end ? most : end); i += 32)
        few = fmaf(load_global(lhs + i * args_.lhs.rows.n_step), load_global(rhs + i * args_.rhs.rows.n_step), few);
      sum += few;
    }
    return warp_sum<1>(sum);
  }

 private:
  /// From which magnitude on a sum is good.
  __device__ float bar(unsigned place) const {
    if constexpr (sums_magnitudes(F::traits, config)) {
      const unsigned row = info_.row_code(place / tile_columns(config));
      const unsigned column = info_.column_code(place % tile_columns(config));
      return row == 0 || column == 0 ? 0.0F : bar_of_code(row > column ? row : column);
    } else if constexpr (!marks_rows(F::traits, config)) {
      return sure_sum_;
    } else {
      const unsigned char row = info_.row_marks[place / tile_columns(config)];
      const unsigned char column = info_.column_marks[place % tile_columns(config)];
      if ((row | column) >> 4 == 0) return 0.0F;
      if (row == SampleMark::byte_of_zeros() || column == SampleMark::byte_of_zeros()) return 0.0F;
      const long long n = part_.template length<F>(args_);
      return loss(n, SampleMark::from_byte(row), SampleMark::from_byte(column).mean) +
             loss(n, SampleMark::from_byte(column), SampleMark::from_byte(row).mean);
    }
  }
  /// Whether one of the lane's rows loses something; a lane has four neighbours at a time.
  template <int count>
  static __device__ bool has_code(const unsigned char (&marks)[count]) {
    static_assert(count % 4 == 0, "marks are read four at a time");
    unsigned found = 0;
#pragma unroll
    for (int first = 0; first < count; first += 128) {
      const unsigned i = first + threadIdx.x % 32 * 4;
      if (i < count) found |= *reinterpret_cast<const unsigned*>(marks + i);
    }
    return (found & 0xf0f0f0f0U) != 0;
  }
  /// The largest code and the largest mean of some rows.
  template <int count>
  static __device__ SampleMark most_of(const unsigned char (&marks)[count]) {
    unsigned code = 0;
    unsigned mean = 0;
#pragma unroll 1
    for (unsigned i = threadIdx.x % 32; i < count; i += 32) {
      const SampleMark mark = SampleMark::from_byte(marks[i]);
      code = max(code, static_cast<unsigned>(mark.code));
      mean = max(mean, static_cast<unsigned>(mark.mean));
    }
    return {static_cast<int>(warp_maximum<1>(code)), static_cast<int>(warp_maximum<1>(mean))};
  }
  /// Of one row, which meets elements of that mean; over the share of a sum that may be lost.
  static __device__ float loss(long long n, const SampleMark& mark, int mean) {
    constexpr int share = sample_loss_exponent(config.mode);
    if (mark.code == 0) return 0.0F;
    const float of_all = power(floor_log2(n) + mean + packed_lost_exponent() - share);
    const float of_lossy = power(mark.loss_exponent() - share);
    return of_all < of_lossy ? of_all : of_lossy;
  }
  static __device__ float power(int exponent) { return __builtin_bit_cast(float, packed_power_bits(exponent)); }

  __device__ const float* row_of(const SampledRows& rows, unsigned row) const {
    return rows.first + part_.matrix * rows.stride + row * rows.row_step;
  }

  const TensorSampleArgs& args_;
  const SamplePart& part_;
  const TileInfo<F>& info_;
  float sure_sum_;  ///< TileInfo's, in a register
};

}  // namespace vostok
