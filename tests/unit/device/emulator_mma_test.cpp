#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "unit/device/emulator_harness.hpp"

using namespace emulator_test;

namespace {

struct Args {
  const float* a;
  const float* b;
  const float* c;
  float* d;
};

/// D = A B + C by mma.sync for A [16, depth] row-major and B [depth, 8] row-major, fragments filled as the PTX ISA
/// draws them.
Bench make_bench(const std::string& type, Order order) {
  const bool wide = type == "tf32";
  const std::string pack = wide ? "__device__ unsigned pack(const float* x, int) { return __float_as_uint(x[0]); }\n"
                                : "__device__ unsigned pack(const float* x, int step) {\n"
                                  "  return (unsigned)vostok::f32_to_" +
                                      type + "(x[step]) << 16 | vostok::f32_to_" + type + "(x[0]);\n}\n";
  const std::string depth = wide ? "8" : "16";
  const std::string first_k = wide ? "member" : "2 * member";
  return Bench({.text = "struct Args { const float* a; const float* b; const float* c; float* d; };\n" + pack +
                        "__global__ void kernel(const __grid_constant__ Args args) {\n"
                        "  constexpr int depth = " +
                        depth +
                        ";\n"
                        "  int group = threadIdx.x / 4, member = threadIdx.x % 4, k = " +
                        first_k +
                        ";\n"
                        "  const float* a = args.a + group * depth + k;\n"
                        "  const float* b = args.b + k * 8 + group;\n"
                        "  unsigned as[4] = {pack(a, 1), pack(a + 8 * depth, 1), pack(a + depth / 2, 1), pack(a + 8 * "
                        "depth + depth / 2, 1)};\n"
                        "  unsigned bs[2] = {pack(b, 8), pack(b + depth / 2 * 8, 8)};\n"
                        "  float cs[4];\n"
                        "  for (int i = 0; i < 4; ++i) cs[i] = args.c[(group + i / 2 * 8) * 8 + 2 * member + i % 2];\n"
                        "  vostok::mma_" +
                        type +
                        "(cs, as, bs);\n"
                        "  for (int i = 0; i < 4; ++i) args.d[(group + i / 2 * 8) * 8 + 2 * member + i % 2] = cs[i];\n"
                        "}\n",
                .templates = {"parts/half.h", "parts/mma.h"}},
               {.order = order});
}

struct Operands {
  explicit Operands(int depth)
      : a(static_cast<std::size_t>(16 * depth), 0.0F),
        b(static_cast<std::size_t>(depth * 8), 0.0F),
        c(128, 0.0F),
        d(128, -1.0F) {}
  std::vector<float> a, b, c, d;
  void run(Bench& bench) { bench.launch({}, {32}, Args{a.data(), b.data(), c.data(), d.data()}); }
};

}  // namespace

TEST_CASE("mma multiplies small integers exactly for every type and order") {
  constexpr unsigned seed = 8;
  CAPTURE(seed);
  for (const std::string type : {"f16", "bf16", "tf32"}) {
    CAPTURE(type);
    const int depth = type == "tf32" ? 8 : 16;
    for (const Order order : orders) {
      CAPTURE(describe(order));
      Bench bench = make_bench(type, order);
      Operands x(depth);
      std::mt19937 random(seed);
      for (auto* values : {&x.a, &x.b, &x.c})
        for (float& value : *values) value = static_cast<float>(static_cast<int>(random() % 31) - 15);
      x.run(bench);
      for (int row = 0; row < 16; ++row)
        for (int column = 0; column < 8; ++column) {
          const auto at = static_cast<std::size_t>(row * 8 + column);
          float sum = x.c[at];
          for (int k = 0; k < depth; ++k)
            sum += x.a[static_cast<std::size_t>(row * depth + k)] * x.b[static_cast<std::size_t>(k * 8 + column)];
          CHECK(x.d[at] == sum);
        }
    }
  }
}

TEST_CASE("mma cuts small terms instead of rounding the sum") {
  Bench bench = make_bench("f16", orders[0]);
  Operands x(16);
  for (std::size_t k = 0; k < 8; ++k) x.b[k * 8] = 1;
  // Row 0: 1 + 2^-24 twice. Each survives the alignment (25 bits), their sum is f32's last bit.
  x.c[0] = 1;
  x.a[0] = x.a[1] = 0x1p-24F;
  // Row 1: 2^-26 four times. Rounded at the end it would be 2^-24 and vanish anyway; with 8 of 2^-26 it would be seen.
  x.c[8] = 1;
  for (std::size_t k = 0; k < 8; ++k) x.a[16 + k] = 0x1p-24F;
  for (std::size_t k = 0; k < 8; ++k) x.b[k * 8 + 1] = 0x1p-2F;
  x.c[9] = 1;
  // Row 2: 1 + 1.5 * 2^-23 is cut to 1 + 2^-23, where rounding to nearest would give 1 + 2^-22.
  x.c[16] = 1;
  x.a[32] = 0x1.8p-23F;
  // Row 3: the same below zero: towards zero again.
  x.c[24] = -1;
  x.a[48] = -0x1.8p-23F;
  x.run(bench);
  CHECK(x.d[0] == 1 + 0x1p-23F);
  CHECK(x.d[8] == 1 + 0x1p-21F);
  CHECK(x.d[9] == 1);  // eight terms of 2^-26: each is cut away, together they are 2^-23
  CHECK(x.d[16] == 1 + 0x1p-23F);
  CHECK(x.d[24] == -1 - 0x1p-23F);
}

TEST_CASE("mma passes infinities, NaN, subnormals and overflow on") {
  Bench bench = make_bench("bf16", orders[0]);
  Operands x(16);
  x.b[0] = 1;
  x.b[8] = 1;
  x.a[0] = INFINITY;
  x.a[16] = INFINITY, x.a[17] = -INFINITY;
  x.a[32] = NAN;
  x.a[48] = 0x1p-126F, x.c[24] = -0x1p-127F;
  x.a[64] = 0x1p127F, x.a[65] = 0x1p127F;
  x.run(bench);
  CHECK(x.d[0] == INFINITY);
  CHECK(std::isnan(x.d[8]));
  CHECK(std::isnan(x.d[16]));
  CHECK(x.d[24] == 0x1p-127F);
  CHECK(x.d[32] == INFINITY);
  CHECK(x.d[40] == 0);
}

TEST_CASE("tf32 operands lose their lower 13 bits") {
  Bench bench = make_bench("tf32", orders[0]);
  Operands x(8);
  x.a[0] = std::bit_cast<float>(0x3f801fffU);
  x.b[0] = 1;
  x.run(bench);
  CHECK(x.d[0] == 1);
}
