// Warpgroup-wide multiply-accumulate of a 2:4 sparse A in registers (wgmma.mma_async.sp m64nNk32, sm_90a): c += a * b in f32. PTX only.
//
// Rows, c and B are as in parts/wgmma.h, which also says how multiplications begin, are committed and waited for; B has 32 k. Registers and
// metadata of a warp's 16 rows are those of parts/sparse_mma.h; the words of members 0 and 1 are read.
#pragma once

#include "abi/enums.h"
#include "parts/register_lists.h"
#include "parts/wgmma.h"

namespace vostok {

/// multiply<type, line>(c, a, metadata, descriptor) for these columns.
template <int columns>
struct SparseWarpgroupMma;

#define VOSTOK_SPARSE_WGMMA_TEXT(width, elements, places, a, descriptor, metadata, by_columns)                                                 \
  "{ .reg .pred accumulate; setp.eq.b32 accumulate, 0, 0; wgmma.mma_async.sp.sync.aligned.m64n" #width "k32.f32." elements " {" places "}, " a \
  ", " descriptor ", " metadata ", 0x0, accumulate, 1, 1, " by_columns "; }"

#define VOSTOK_SPARSE_WGMMA(width, sums, places, ...)                                                                                    \
  template <>                                                                                                                            \
  struct SparseWarpgroupMma<width> {                                                                                                     \
    template <Dtype type, DenseLine line>                                                                                                \
    __device__ __forceinline__ static void multiply(float (&c)[width / 2], const unsigned* a, unsigned metadata, unsigned long long b) { \
      static_assert(type != Dtype::f32, "wgmma: operands have 16 bits");                                                                 \
      if constexpr (type == Dtype::f16)                                                                                                  \
        asm volatile(VOSTOK_SPARSE_WGMMA_TEXT(width, "f16.f16", places, __VA_ARGS__)                                                     \
                     : sums(c, 0)                                                                                                        \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(metadata), "n"(line == DenseLine::columns ? 1 : 0));      \
      else                                                                                                                               \
        asm volatile(VOSTOK_SPARSE_WGMMA_TEXT(width, "bf16.bf16", places, __VA_ARGS__)                                                   \
                     : sums(c, 0)                                                                                                        \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(metadata), "n"(line == DenseLine::columns ? 1 : 0));      \
    }                                                                                                                                    \
  };

VOSTOK_SPARSE_WGMMA(64, VOSTOK_SUMS_32, VOSTOK_PLACES_32, "{%32, %33, %34, %35}", "%36", "%37", "%38")
VOSTOK_SPARSE_WGMMA(128, VOSTOK_SUMS_64, VOSTOK_PLACES_64, "{%64, %65, %66, %67}", "%68", "%69", "%70")
VOSTOK_SPARSE_WGMMA(256, VOSTOK_SUMS_128, VOSTOK_PLACES_128, "{%128, %129, %130, %131}", "%132", "%133", "%134")

#undef VOSTOK_SPARSE_WGMMA
#undef VOSTOK_SPARSE_WGMMA_TEXT

}  // namespace vostok
