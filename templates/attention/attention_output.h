// Where attention's sums leave: normalised, in whole sectors, and made again where they are not finite; or as a slice's
// partial sums.
#pragma once

#include "abi/fused_attention.h"
#include "attention/attend_again.h"
#include "attention/dropout.h"
#include "attention/online_softmax.h"
#include "attention/strip_store.h"
#include "parts/element.h"
#include "parts/loads.h"

namespace vostok {

/// Of a strip of 16 queries, whose sums a warp has as fragments of 8 values of the block's part.
template <class F>
class StripOutput {
  static constexpr auto traits = F::traits;
  using Part = ColumnPart<F>;
  static constexpr int octets = Part::value_size / 8;

 public:
  __device__ StripOutput(const FusedAttentionArgs& args, long long head, long long first_row)
      : args_(args), head_(head), first_row_(first_row), lane_(threadIdx.x % 32) {}

  /// Every lane of the warp comes here. Of more sums than there are values, the first count.
  template <int count>
  __device__ void store(float (&sums)[count][4], const OnlineSoftmax& softmax) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float factor = output_factor<F>(args_, softmax.total(half));
#pragma unroll
      for (int o = 0; o < octets; ++o)
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) sums[o][i] *= factor;
    }
    auto* const output = static_cast<typename Element<traits.element>::Storage*>(args_.output);
    const int first = Part::number() * Part::value_size;
    StripStore<traits.element, Part::value_size, traits.whole>(output + (head_ * args_.output_stride + first),
                                                               args_.output_leading, first_row_, args_.rows,
                                                               args_.value_size - first)
        .store(sums);
    if constexpr (traits.statistics)
      if (first == 0) store_statistics(softmax);
    bool finite[2] = {true, true};
    find_finite<octets>(finite, sums);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const long long row = row_of_half(half);
      visit_lines(lanes_of_lines(!finite[half] && row < args_.rows), row,
                  [&](long long one) { AttendAgain<F>(args_, head_, one).make(); });
    }
  }

  /// A slice's sums, relative to their origins.
  template <int count>
  __device__ void store_partial(const float (&sums)[count][4], const OnlineSoftmax& softmax, unsigned slice,
                                unsigned slices) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const long long row = row_of_half(half);
      if (row >= args_.rows) continue;
      const long long line = (head_ * slices + slice) * args_.rows + row;
#pragma unroll
      for (int o = 0; o < octets; ++o)
        store_global<false>(reinterpret_cast<Vector<float, 2>*>(args_.partial_sums + line * traits.value_size + 8 * o +
                                                                2 * (lane_ % 4)),
                            Vector<float, 2>{sums[o][2 * half], sums[o][2 * half + 1]});
      if (lane_ % 4 == 0)
        store_global<false>(reinterpret_cast<Vector<float, 2>*>(args_.partial_rows + 2 * line),
                            Vector<float, 2>{softmax.origin(half), softmax.total(half)});
    }
  }

 private:
  __device__ long long row_of_half(int half) const { return first_row_ + lane_ / 4 + 8 * half; }

  __device__ void store_statistics(const OnlineSoftmax& softmax) const {
#pragma unroll
    for (int half = 0; half < 2; ++half)
      if (lane_ % 4 == 0 && row_of_half(half) < args_.rows)
        args_.statistics[head_ * args_.rows + row_of_half(half)] =
            softmax_logarithm(softmax.origin(half), softmax.total(half));
  }

  const FusedAttentionArgs& args_;
  const long long head_;
  const long long first_row_;
  const unsigned lane_;
};

}  // namespace vostok
