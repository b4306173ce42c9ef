// Attention of all slices of keys: joins their partial sums, a warp for each row.
#pragma once

#include "abi/fixed.h"
#include "abi/fused_attention.h"
#include "attention/attend_again.h"
#include "attention/dropout.h"
#include "parts/dependent_launch.h"
#include "parts/finite.h"

namespace vostok {

template <class F>
__global__ void __launch_bounds__(32 * F::config.warps) join_slices(const __grid_constant__ FusedAttentionArgs args) {
  constexpr auto traits = F::traits;
  constexpr int slices = F::config.slices, parts = (traits.value_size + 31) / 32;
  using Type = Element<traits.element>;
  follow_previous_launch();
  const unsigned lane = threadIdx.x % 32;
  const long long line = static_cast<long long>(blockIdx.x) * F::config.warps + threadIdx.x / 32;
  if (line >= args.heads * args.rows) return;
  const long long head = line / args.rows, row = line % args.rows;
  const auto place = [&](int slice) { return (head * slices + slice) * args.rows + row; };

  float origin = -attention_infinity();
#pragma unroll 1
  for (int s = 0; s < slices; ++s) origin = fmaxf(origin, load_own(args.partial_rows + 2 * place(s)));
  const float from = origin == -attention_infinity() ? 0.0F : origin;
  float total = 0.0F, sums[parts] = {};
#pragma unroll 1
  for (int s = 0; s < slices; ++s) {
    const float weight = fast_exp2(load_own(args.partial_rows + 2 * place(s)) - from);
    total = fmaf(load_own(args.partial_rows + 2 * place(s) + 1), weight, total);
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      const int at = static_cast<int>(lane) + 32 * p;
      if (at < traits.value_size)
        sums[p] = fmaf(load_own(args.partial_sums + place(s) * traits.value_size + at), weight, sums[p]);
    }
  }

  const float factor = output_factor<F>(args, total);
  auto* const output =
      static_cast<typename Type::Storage*>(args.output) + head * args.output_stride + row * args.output_leading;
  bool finite = true;
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    const int at = static_cast<int>(lane) + 32 * p;
    sums[p] *= factor;
    finite = finite && is_finite(sums[p]);
    if (at < args.value_size) output[at] = Type::from_float(sums[p]);
  }
  if constexpr (traits.statistics)
    if (lane == 0) args.statistics[line] = softmax_logarithm(origin, total);
  if (!__all_sync(0xffffffffU, finite)) {
    __syncwarp();
    AttendAgain<F>(args, head, row).make();
  }
}

}  // namespace vostok
