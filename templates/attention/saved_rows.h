// The two numbers of each query that attention's gradients read, from what the forward pass left: the logarithm of its
// sum of exponentials, and its output's inner product with the gradient, which is the sum of probabilities times their
// gradients (Dao: FlashAttention-2, arXiv 2307.08691). A warp has a query.
#pragma once

#include "abi/fixed.h"
#include "abi/fused_backward.h"
#include "attention/gradient_again.h"
#include "parts/dependent_launch.h"
#include "parts/element.h"
#include "parts/loads.h"
#include "parts/warp.h"

namespace vostok {

template <class F>
__global__ void __launch_bounds__(32 * F::config.warps) saved_rows(const __grid_constant__ FusedBackwardArgs args) {
  constexpr auto traits = F::traits;
  constexpr float log2_e = 1.44269504088896340736F;
  constexpr int each = traits.whole ? 2 : 1;  // elements of a load
  constexpr int parts = (traits.value_size + 32 * each - 1) / (32 * each);
  using Type = Element<traits.element>;
  using Stored = typename Type::Storage;
  using Piece = Vector<Stored, each>;
  follow_previous_launch();
  const unsigned lane = threadIdx.x % 32;
  const long long line = static_cast<long long>(blockIdx.x) * F::config.warps + threadIdx.x / 32;
  if (line >= args.walk.heads * args.queries) return;
  const long long first = line / args.queries * args.own_values_stride + line % args.queries * args.own_values_leading;
  const auto* const output = static_cast<const Stored*>(args.output) + first;
  const auto* const gradient = static_cast<const Stored*>(args.own_values) + first;
  float sum = 0.0F;
  [[maybe_unused]] float magnitudes = 0.0F, largest = 0.0F, gradients = 0.0F;
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    const int at = each * (static_cast<int>(lane) + 32 * p);
    if (at >= args.walk.value_size) continue;
    const Piece a = load_global(reinterpret_cast<const Piece*>(output + at)),
                b = load_global(reinterpret_cast<const Piece*>(gradient + at));
#pragma unroll
    for (int i = 0; i < each; ++i) {
      sum = fmaf(Type::to_float(a.at[i]), Type::to_float(b.at[i]), sum);
      if constexpr (traits.terms > 0) {
        magnitudes += fabsf(Type::to_float(a.at[i]) * Type::to_float(b.at[i]));
        largest = fmaxf(largest, fabsf(Type::to_float(a.at[i])));
        gradients += fabsf(Type::to_float(b.at[i]));
      }
    }
  }
  sum = warp_sum<1>(sum);
  if constexpr (traits.terms > 0) {
    // An output's elements lack about 2^-30 of its largest, however small they are: terms of values are to blame.
    const float largest_of_row = __builtin_bit_cast(float, warp_largest(__builtin_bit_cast(int, largest)));
    const bool vouched = largest_of_row * warp_sum<1>(gradients) <= 0x1p10F * warp_sum<1>(magnitudes);
    if (!vouched) return GradientAgain<F>(args, line / args.queries, line % args.queries).make();
  }
  if (lane != 0) return;
  const float logarithm = args.logarithms[line];
  // A query that names no key, or only scores of -infinity.
  const bool attends = logarithm != -attention_infinity();
  store_global<false>(reinterpret_cast<Vector<float, 2>*>(args.statistics + 2 * line),
                      attends ? Vector<float, 2>{logarithm * log2_e, sum} : Vector<float, 2>{0.0F, 0.0F});
}

}  // namespace vostok
