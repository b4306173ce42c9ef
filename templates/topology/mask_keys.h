// The keys that masks are selected by: magnitudes of a dense matrix, or random numbers.
#pragma once

#include "abi/mask.h"
#include "abi/random_keys.h"
#include "parts/element.h"

namespace vostok {

/// Keys of one row. Magnitudes compare as their bits do; a NaN's are above infinity's.
template <MaskKind kind, Dtype element>
struct RowKeys {
  unsigned long long seed_of_row = 0;
  const typename Element<element>::Storage* dense_row = nullptr;

  template <class Args>
  __device__ RowKeys(const Args& args, long long row) {
    if constexpr (kind == MaskKind::largest)
      dense_row = static_cast<const typename Element<element>::Storage*>(args.dense) + row * args.leading;
    else seed_of_row = row_seed(args.seed, row);
  }
  __device__ unsigned key(long long column) const {
    if constexpr (kind == MaskKind::largest)
      return __builtin_bit_cast(unsigned, Element<element>::to_float(dense_row[column])) & 0x7fffffffU;
    else return distinct_key(seed_of_row, column);
  }
};

}  // namespace vostok
