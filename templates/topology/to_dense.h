// A sparse matrix written out as a dense one: a block zeroes its row and puts the row's values there.
#pragma once

#include "abi/fixed.h"
#include "abi/mask.h"
#include "parts/element.h"
#include "topology/integer.h"

namespace vostok {

template <class F>
__global__ void __launch_bounds__(F::config.threads) to_dense(const __grid_constant__ ToDenseArgs args) {
  using Value = Element<F::traits.element>;
  using Storage = typename Value::Storage;
  constexpr IntegerType offsets = offset_type(F::traits.wide_offsets);
  const long long row = blockIdx.x;
  auto* const dense = static_cast<Storage*>(args.dense) + row * args.leading;
  const auto* const values = static_cast<const Storage*>(args.values);
  for (long long column = threadIdx.x; column < args.cols; column += F::config.threads) dense[column] = 0;
  __syncthreads();
  // Repeats are added by one thread: in CSR order, whatever runs first.
  constexpr int step = F::traits.adds ? 1 : F::config.threads;
  if (F::traits.adds && threadIdx.x != 0) return;
  const long long end = read_integer<offsets>(args.row_offsets, row + 1);
  for (long long i = read_integer<offsets>(args.row_offsets, row) + threadIdx.x; i < end; i += step) {
    Storage& element = dense[read_integer<integer_type(F::traits.index)>(args.column_indices, i)];
    if constexpr (F::traits.adds) element = Value::from_float(Value::to_float(element) + Value::to_float(values[i]));
    else element = values[i];
  }
}

}  // namespace vostok
