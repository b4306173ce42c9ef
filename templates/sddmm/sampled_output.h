// Where the nonzeros of D go, and what happens to a sum on its way: D = scale * sum (o C) (+ D).
#pragma once

#include "parts/element.h"
#include "parts/loads.h"
#include "parts/opaque.h"

namespace vostok {

/// The nonzeros of one matrix of the batch. `F::traits` says what is done, `args` holds the operands.
template <class F, bool stream>
class SampledOutput {
  static constexpr auto traits = F::traits;
  using Input = Element<traits.element>;
  using Output = Element<traits.output>;

 public:
  /// `matrix` is that of the batch, `line` the one of the output, which differ where the output holds parts of sums.
  template <class Args>
  __device__ SampledOutput(const Args& args, long long matrix, long long line)
      : output_(static_cast<typename Output::Storage*>(args.output) + line * args.output_stride),
        multiplier_(static_cast<const typename Input::Storage*>(args.multiplier) + matrix * args.multiplier_stride) {
    if constexpr (traits.scale == Scale::host) factor_ = args.scale;
    if constexpr (traits.scale == Scale::device) factor_ = load_global(args.device_scale);
  }

  /// Addresses stay in registers: for loops of few instructions.
  __device__ void keep_addresses() {
    make_global_opaque(output_);
    if constexpr (traits.multiply) make_global_opaque(multiplier_);
  }

  __device__ void store(long long at, float sum) const {
    float value = sum;
    if constexpr (traits.scale != Scale::one) value *= factor_;
    // Plain loads: the output may be the multiplier.
    if constexpr (traits.multiply) value *= Input::to_float(multiplier_[at]);
    if constexpr (traits.accumulate) value += Output::to_float(output_[at]);
    store_global<stream>(output_ + at, Output::from_float(value));
  }

 private:
  typename Output::Storage* output_;
  const typename Input::Storage* multiplier_;
  float factor_ = 1.0F;
};

}  // namespace vostok
