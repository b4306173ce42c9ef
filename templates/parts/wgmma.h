// Warpgroup-wide matrix multiply-accumulate (wgmma.mma_async m64nNk16, sm_90a): c += a * b in f32. PTX only.
// multiply_tf32 is m64nNk8: of f32 elements, whose last 13 bits count as zeros, one a register: k member; a[2], a[3]: k
// member + 4; c is as below.
//
// A warpgroup is four warps from a multiple of four on. Its warp w holds rows 16 w to 16 w + 15; lane = 4 * group +
// member (PTX ISA, "Register fragments for wgmma.mma_async.m64nNk16"), two elements a register, the lower k in the
// lower half:
//   a[0]: row group, k 2 * member; a[1]: row group + 8; a[2], a[3]: as a[0], a[1] with k + 8
//   c[4 j], c[4 j + 1]: row group, columns 8 j + 2 * member and the next; c[4 j + 2], c[4 j + 3]: row group + 8
// B lies in shared memory and is named by a descriptor; A lies in registers, or like B.
#pragma once

#include "abi/enums.h"

namespace vostok {

/// What lies side by side in a 128-byte line of B in shared memory: 64 columns of one k (a row-major B), or 64 k of one
/// column.
enum class DenseLine { columns, k };

/// B in lines of 128 bytes whose 16-byte chunk c lies at place c ^ (line % 8), eight lines from a multiple of 1024
/// bytes on, the next eight `octet_bytes` on. Lines of columns are k by k, the next 64 columns `group_bytes` on; lines
/// of k are column by column (no `group_bytes`). An A in shared memory lies as a B whose columns are its rows.
__device__ inline unsigned long long dense_descriptor(unsigned shared, unsigned group_bytes,
                                                      unsigned octet_bytes = 1024) {
  constexpr unsigned long long swizzle_of_128_bytes = 1;
  return (shared & 0x3ffffU) >> 4 | static_cast<unsigned long long>(group_bytes >> 4) << 16 |
         static_cast<unsigned long long>(octet_bytes >> 4) << 32 | swizzle_of_128_bytes << 62;
}

/// The descriptor of what lies so many bytes further on. Starts have 18 bits and never carry beyond them: one addition
/// of 32 bits, put together in PTX, since the compiler would add in 64 bits and mask.
__device__ inline unsigned long long moved_descriptor(unsigned long long descriptor, unsigned bytes) {
  const unsigned low = static_cast<unsigned>(descriptor) + (bytes >> 4);
  unsigned long long moved;
  asm("mov.b64 %0, {%1, %2};" : "=l"(moved) : "r"(low), "r"(static_cast<unsigned>(descriptor >> 32)));
  return moved;
}

/// Before the first multiplication, and after this thread wrote registers that the next ones take.
__device__ inline void begin_multiplications() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

/// Makes one group of the multiplications since the last.
__device__ inline void commit_multiplications() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

/// Waits until all but the newest `pending` groups are done: their registers may not be touched before.
template <int pending = 0>
__device__ inline void wait_multiplications() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

/// Registers of multiplications that were waited for: what reads them is not moved before the wait. No instruction.
template <int count>
__device__ inline void settle_multiplications(float (&c)[count][4]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3]));
}

template <int count>
__device__ inline void settle_multiplications(float (&c)[count]) {
#pragma unroll
  for (float& sum : c) asm volatile("" : "+f"(sum));
}

/// Fragments of sums as an instruction's list of registers.
template <int count>
__device__ inline float (&flat_sums(float (&fragments)[count][4]))[4 * count] {
  return *reinterpret_cast<float(*)[4 * count]>(&fragments);
}

/// For these columns: multiply<type, line>(c, a, descriptor, accumulates), and multiply_shared<type, line of a,
/// line>(c, descriptor of a, descriptor, accumulates), and multiply_tf32(c, a, descriptor, accumulates), whose lines
/// are of k. c is overwritten where it does not accumulate.
template <int columns>
struct WarpgroupMma;

// The operands of an instruction: c, the four of a, the descriptor, whether it accumulates, whether lines are of
// columns.
#define VOSTOK_C4(i) "+f"(c[i]), "+f"(c[(i) + 1]), "+f"(c[(i) + 2]), "+f"(c[(i) + 3])
#define VOSTOK_C8(i) VOSTOK_C4(i), VOSTOK_C4((i) + 4)
#define VOSTOK_C16(i) VOSTOK_C8(i), VOSTOK_C8((i) + 8)
#define VOSTOK_C32(i) VOSTOK_C16(i), VOSTOK_C16((i) + 16)
#define VOSTOK_C64(i) VOSTOK_C32(i), VOSTOK_C32((i) + 32)
#define VOSTOK_C128(i) VOSTOK_C64(i), VOSTOK_C64((i) + 64)

#define VOSTOK_LIST_8 "%0, %1, %2, %3"
#define VOSTOK_LIST_16 VOSTOK_LIST_8 ", %4, %5, %6, %7"
#define VOSTOK_LIST_32 VOSTOK_LIST_16 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define VOSTOK_LIST_64 VOSTOK_LIST_32 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define VOSTOK_LIST_128                                                                \
  VOSTOK_LIST_64                                                                       \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define VOSTOK_LIST_256                                                                          \
  VOSTOK_LIST_128                                                                                \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "           \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "             \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

#define VOSTOK_WGMMA_TEXT(width, elements, list, a, descriptor, accumulating, transposed)          \
  "{ .reg .pred accumulate; setp.ne.b32 accumulate, " accumulating                                 \
  ", 0; "                                                                                          \
  "wgmma.mma_async.sync.aligned.m64n" #width "k16.f32." elements " {" list "}, " a ", " descriptor \
  ", accumulate, 1, 1, " transposed "; }"

#define VOSTOK_WGMMA_TF32_TEXT(width, list, a, descriptor, accumulating) \
  "{ .reg .pred accumulate; setp.ne.b32 accumulate, " accumulating       \
  ", 0; "                                                                \
  "wgmma.mma_async.sync.aligned.m64n" #width "k8.f32.tf32.tf32 {" list "}, " a ", " descriptor ", accumulate, 1, 1; }"

#define VOSTOK_WGMMA_FLAGS "r"(accumulates ? 1 : 0), "n"(line == DenseLine::columns ? 1 : 0)

// After c come four registers of a, or its descriptor; b's; whether it accumulates; and whether lines are of columns,
// those of an A in shared memory first.
#define VOSTOK_WGMMA(width, list, c_operands, p0, p1, p2, p3, p4, p5, p6)                                           \
  template <>                                                                                                       \
  struct WarpgroupMma<width> {                                                                                      \
    template <Dtype type, DenseLine line>                                                                           \
    __device__ __forceinline__ static void multiply(float (&c)[width / 2], const unsigned* a, unsigned long long b, \
                                                    bool accumulates) {                                             \
      static_assert(type != Dtype::f32, "wgmma: operands have 16 bits");                                            \
      if constexpr (type == Dtype::f16)                                                                             \
        asm volatile(VOSTOK_WGMMA_TEXT(width, "f16.f16", list, "{" p0 ", " p1 ", " p2 ", " p3 "}", p4, p5, p6)      \
                     : c_operands                                                                                   \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), VOSTOK_WGMMA_FLAGS);                     \
      else                                                                                                          \
        asm volatile(VOSTOK_WGMMA_TEXT(width, "bf16.bf16", list, "{" p0 ", " p1 ", " p2 ", " p3 "}", p4, p5, p6)    \
                     : c_operands                                                                                   \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), VOSTOK_WGMMA_FLAGS);                     \
    }                                                                                                               \
    template <Dtype type, DenseLine a_line, DenseLine line>                                                         \
    __device__ __forceinline__ static void multiply_shared(float (&c)[width / 2], unsigned long long a,             \
                                                           unsigned long long b, bool accumulates) {                \
      static_assert(type != Dtype::f32, "wgmma: operands have 16 bits");                                            \
      if constexpr (type == Dtype::f16)                                                                             \
        asm volatile(VOSTOK_WGMMA_TEXT(width, "f16.f16", list, p0, p1, p2, p3 ", " p4)                              \
                     : c_operands                                                                                   \
                     : "l"(a), "l"(b), "r"(accumulates ? 1 : 0), "n"(a_line == DenseLine::columns ? 1 : 0),         \
                       "n"(line == DenseLine::columns ? 1 : 0));                                                    \
      else                                                                                                          \
        asm volatile(VOSTOK_WGMMA_TEXT(width, "bf16.bf16", list, p0, p1, p2, p3 ", " p4)                            \
                     : c_operands                                                                                   \
                     : "l"(a), "l"(b), "r"(accumulates ? 1 : 0), "n"(a_line == DenseLine::columns ? 1 : 0),         \
                       "n"(line == DenseLine::columns ? 1 : 0));                                                    \
    }                                                                                                               \
    __device__ __forceinline__ static void multiply_tf32(float (&c)[width / 2], const unsigned (&a)[4],             \
                                                         unsigned long long b, bool accumulates) {                  \
      asm volatile(VOSTOK_WGMMA_TF32_TEXT(width, list, "{" p0 ", " p1 ", " p2 ", " p3 "}", p4, p5)                  \
                   : c_operands                                                                                     \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulates ? 1 : 0));                 \
    }                                                                                                               \
  };

VOSTOK_WGMMA(8, VOSTOK_LIST_8, VOSTOK_C4(0), "%4", "%5", "%6", "%7", "%8", "%9", "%10")
VOSTOK_WGMMA(16, VOSTOK_LIST_16, VOSTOK_C8(0), "%8", "%9", "%10", "%11", "%12", "%13", "%14")
VOSTOK_WGMMA(32, VOSTOK_LIST_32, VOSTOK_C16(0), "%16", "%17", "%18", "%19", "%20", "%21", "%22")
VOSTOK_WGMMA(64, VOSTOK_LIST_64, VOSTOK_C32(0), "%32", "%33", "%34", "%35", "%36", "%37", "%38")
VOSTOK_WGMMA(128, VOSTOK_LIST_128, VOSTOK_C64(0), "%64", "%65", "%66", "%67", "%68", "%69", "%70")
VOSTOK_WGMMA(256, VOSTOK_LIST_256, VOSTOK_C128(0), "%128", "%129", "%130", "%131", "%132", "%133", "%134")

#undef VOSTOK_WGMMA
#undef VOSTOK_WGMMA_FLAGS
#undef VOSTOK_WGMMA_TEXT
#undef VOSTOK_WGMMA_TF32_TEXT
#undef VOSTOK_C4
#undef VOSTOK_C8
#undef VOSTOK_C16
#undef VOSTOK_C32
#undef VOSTOK_C64
#undef VOSTOK_C128
#undef VOSTOK_LIST_8
#undef VOSTOK_LIST_16
#undef VOSTOK_LIST_32
#undef VOSTOK_LIST_64
#undef VOSTOK_LIST_128
#undef VOSTOK_LIST_256

}  // namespace vostok
