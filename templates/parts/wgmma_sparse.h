// Warpgroup-wide multiply-accumulate of a 2:4 sparse A in registers (wgmma.mma_async.sp m64nNk32, sm_90a): c += a * b
// in f32. PTX only.
//
// Rows, c and B are as in parts/wgmma.h, which also says how multiplications begin, are committed and waited for; B has
// 32 k. Registers and metadata of a warp's 16 rows are those of parts/sparse_mma.h; with selector 0 the words of
// members 0 and 1 are read, with 1 those of members 2 and 3.
#pragma once

#include "abi/enums.h"
#include "parts/register_lists.h"
#include "parts/wgmma.h"

namespace vostok {

/// multiply<type, line, selector>(c, a, metadata, descriptor, accumulates) for these columns. c is overwritten where it
/// does not accumulate.
template <int columns>
struct SparseWarpgroupMma;

#define VOSTOK_SPARSE_WGMMA_TEXT(width, elements, places, a, descriptor, metadata, by_columns, selector, accumulating) \
  "{ .reg .pred accumulate; setp.ne.b32 accumulate, " accumulating ", 0; wgmma.mma_async.sp.sync.aligned.m64n" #width  \
  "k32.f32." elements " {" places "}, " a ", " descriptor ", " metadata ", " selector                                  \
  ", accumulate, 1, 1, " by_columns "; }"

#define VOSTOK_SPARSE_WGMMA_INPUTS                                                                            \
  "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(metadata), "n"(line == DenseLine::columns ? 1 : 0), \
      "n"(selector), "r"(accumulates ? 1 : 0)

#define VOSTOK_SPARSE_WGMMA(width, sums, places, ...)                                                            \
  template <>                                                                                                    \
  struct SparseWarpgroupMma<width> {                                                                             \
    template <Dtype type, DenseLine line, int selector = 0>                                                      \
    __device__ __forceinline__ static void multiply(float (&c)[width / 2], const unsigned* a, unsigned metadata, \
                                                    unsigned long long b, bool accumulates = true) {             \
      static_assert(type != Dtype::f32, "wgmma: operands have 16 bits");                                         \
      if constexpr (type == Dtype::f16)                                                                          \
        asm volatile(VOSTOK_SPARSE_WGMMA_TEXT(width, "f16.f16", places, __VA_ARGS__)                             \
                     : sums(c, 0)                                                                                \
                     : VOSTOK_SPARSE_WGMMA_INPUTS);                                                              \
      else                                                                                                       \
        asm volatile(VOSTOK_SPARSE_WGMMA_TEXT(width, "bf16.bf16", places, __VA_ARGS__)                           \
                     : sums(c, 0)                                                                                \
                     : VOSTOK_SPARSE_WGMMA_INPUTS);                                                              \
    }                                                                                                            \
  };

VOSTOK_SPARSE_WGMMA(8, VOSTOK_SUMS_4, VOSTOK_PLACES_4, "{%4, %5, %6, %7}", "%8", "%9", "%10", "%11", "%12")
VOSTOK_SPARSE_WGMMA(16, VOSTOK_SUMS_8, VOSTOK_PLACES_8, "{%8, %9, %10, %11}", "%12", "%13", "%14", "%15", "%16")
VOSTOK_SPARSE_WGMMA(32, VOSTOK_SUMS_16, VOSTOK_PLACES_16, "{%16, %17, %18, %19}", "%20", "%21", "%22", "%23", "%24")
VOSTOK_SPARSE_WGMMA(64, VOSTOK_SUMS_32, VOSTOK_PLACES_32, "{%32, %33, %34, %35}", "%36", "%37", "%38", "%39", "%40")
VOSTOK_SPARSE_WGMMA(128, VOSTOK_SUMS_64, VOSTOK_PLACES_64, "{%64, %65, %66, %67}", "%68", "%69", "%70", "%71", "%72")
VOSTOK_SPARSE_WGMMA(256, VOSTOK_SUMS_128, VOSTOK_PLACES_128, "{%128, %129, %130, %131}", "%132", "%133", "%134", "%135",
                    "%136")

#undef VOSTOK_SPARSE_WGMMA
#undef VOSTOK_SPARSE_WGMMA_INPUTS
#undef VOSTOK_SPARSE_WGMMA_TEXT

}  // namespace vostok
