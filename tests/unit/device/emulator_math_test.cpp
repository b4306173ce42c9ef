#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "unit/device/emulator_harness.hpp"

using namespace emulator_test;

TEST_CASE("integer intrinsics agree with their definitions") {
  struct Args {
    long long* out;
  };
  Bench bench({.text =
                   "struct Args { long long* out; };\n"
                   "__global__ void kernel(const __grid_constant__ Args args) {\n"
                   "  long long* out = args.out;\n"
                   "  *out++ = __popc(0xf00f1u); *out++ = __popcll(0xf00000000f1ull);\n"
                   "  *out++ = __ffs(0); *out++ = __ffs(8); *out++ = __clz(0); *out++ = __clz(1); *out++ = __clzll(1ll "
                   "<< 40);\n"
                   "  *out++ = __brev(0x80000001u); *out++ = __brev(0x12345678u);\n"
                   "  *out++ = min(-1, 1); *out++ = max(2u, 3u); *out++ = abs(-4);\n"
                   "  *out++ = __float_as_uint(1.0f); *out++ = __float_as_int(-0.0f); *out++ = (long "
                   "long)__uint_as_float(0x40400000u);\n"
                   "  *out++ = __umulhi(0x80000000u, 6u); *out++ = __byte_perm(0x33221100u, 0x77665544u, 0x7250u);\n"
                   "  *out++ = warpSize;\n"
                   "}\n"});
  std::vector<long long> out(18, -1);
  bench.launch({}, {1}, Args{out.data()});
  CHECK(out == std::vector<long long>{9, 9, 0, 4, 32, 31, 23, 0x80000001, 0x1e6a2c48, -1, 3, 4, 0x3f800000,
                                      -2147483648LL, 3, 3, 0x77225500, 32});
}

TEST_CASE("float functions agree with the host's library") {
  struct Args {
    const float* in;
    float* out;
  };
  Bench bench(
      {.text = "struct Args { const float* in; float* out; };\n"
               "__global__ void kernel(const __grid_constant__ Args args) {\n"
               "  float x = args.in[threadIdx.x], y = __ldg(args.in + threadIdx.x + 1);\n"
               "  float* out = args.out + 12 * threadIdx.x;\n"
               "  *out++ = fmaf(x, y, 1.0f); *out++ = __fmaf_rn(x, x, y); *out++ = sqrtf(x); *out++ = rsqrtf(x); "
               "*out++ = expf(-x);\n"
               "  *out++ = tanhf(x); *out++ = erff(x); *out++ = logf(x); *out++ = fmaxf(x, y); *out++ = fabsf(-x);\n"
               "  *out++ = __fadd_rn(__fmul_rn(x, y), 1.0f); *out++ = min(x, y);\n"
               "}\n"});
  const std::vector<float> in = {0.1F, 0.7F, 1.3F, 5.0F, 0.33F};
  std::vector<float> out(48, -1);
  bench.launch({}, {4}, Args{in.data(), out.data()});
  for (std::size_t i = 0; i < 4; ++i) {
    const float x = in[i];
    const float y = in[i + 1];
    const volatile float separate = x * y;  // rounded before the addition
    const std::vector<float> expected = {
        std::fma(x, y, 1.0F), std::fma(x, x, y), std::sqrt(x), 1.0F / std::sqrt(x), std::exp(-x),
        std::tanh(x),         std::erf(x),       std::log(x),  std::fmax(x, y),     x,
        separate + 1.0F,      std::fmin(x, y)};
    const std::vector<float> got(out.begin() + static_cast<std::ptrdiff_t>(12 * i),
                                 out.begin() + static_cast<std::ptrdiff_t>(12 * i + 12));
    CHECK(got == expected);
  }
}

TEST_CASE("vector types have CUDA's sizes and alignments") {
  struct Args {
    int* out;
  };
  Bench bench({.text =
                   "struct Args { int* out; };\n"
                   "template <class T> __device__ int layout() { return sizeof(T) * 100 + alignof(T); }\n"
                   "__global__ void kernel(const __grid_constant__ Args args) {\n"
                   "  int* out = args.out;\n"
                   "  *out++ = layout<float2>(); *out++ = layout<float4>(); *out++ = layout<int2>(); *out++ = "
                   "layout<uint4>(); *out++ = layout<ushort2>();\n"
                   "  *out++ = layout<ushort4>(); *out++ = layout<uchar4>(); *out++ = layout<double2>(); *out++ = "
                   "layout<float3>(); *out++ = "
                   "layout<ulonglong2>();\n"
                   "  float4 f = make_float4(1, 2, 3, 4); *out++ = (int)(f.x + 10 * f.y + 100 * f.z + 1000 * f.w);\n"
                   "}\n"});
  std::vector<int> out(11, -1);
  bench.launch({}, {1}, Args{out.data()});
  CHECK(out == std::vector<int>{808, 1616, 808, 1616, 404, 808, 404, 1616, 1204, 1616, 4321});
}
