// The few elements of a row of C, by way of the epilogue: one for each of the row's first lanes.
#pragma once

#include "abi/sparse_vector.h"
#include "parts/element.h"
#include "parts/epilogue.h"
#include "parts/loads.h"

namespace vostok {

template <class F>
class RowElement {
  static constexpr auto traits = F::traits;
  static constexpr int columns = F::config.columns;
  using Output = Element<traits.output>;
  using Stored = typename Output::Storage;

 public:
  __device__ RowElement(const SparseVectorArgs& args, unsigned product)
      : scale_and_bias_{args.bias, scale_factor<traits.scale>(args.scale, args.device_scale)},
        output_(static_cast<Stored*>(args.output) + product * args.output_stride),
        residual_(static_cast<const Stored*>(args.residual) + product * args.output_stride),
        n_(args.n),
        leading_(args.output_leading) {}

  /// Every lane of a row calls it with all of the row's sums; the first n store.
  __device__ void store(long long row, unsigned lane, const float (&sums)[columns]) const {
    if (lane >= columns || lane >= n_) return;
    float sum = sums[0];
#pragma unroll
    for (unsigned j = 1; j < columns; ++j)
      if (lane == j) sum = sums[j];
    const long long at = traits.output_layout == Layout::row_major ? row * leading_ + lane : lane * leading_ + row;
    float value = scale_and_bias_(sum, scale_and_bias_.row_bias(static_cast<unsigned>(row)), lane);
    if constexpr (traits.residual) value += Output::to_float(load_global(residual_ + at));
    if constexpr (traits.accumulate) value += Output::to_float(load_own(output_ + at));
    store_global<false>(output_ + at, Output::from_float(activated<traits.activation>(value)));
  }

 private:
  ScaleAndBias<traits.bias, traits.scale, traits.bias_element> scale_and_bias_;
  Stored* output_;
  const Stored* residual_;
  long long n_;
  long long leading_;
};

}  // namespace vostok
