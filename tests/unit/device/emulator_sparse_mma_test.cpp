#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "unit/device/emulator_harness.hpp"

using namespace emulator_test;

namespace {

constexpr unsigned seed = 24;
constexpr int depth = 32;

struct Args {
  const float* values;     ///< [16 rows, 16]: of each four k two
  const unsigned* places;  ///< [16 rows, 8]: of each four k, which two
  const float* b;          ///< [32, 8]
  const float* c;
  float* d;
};

/// D = A B + C, fragments and metadata filled as the PTX ISA draws them; lanes whose metadata is not read hold rubbish.
Bench make_bench(const std::string& type, Order order) {
  return Bench(
      {.text =
           "struct Args { const float* values; const unsigned* places; const float* b; const float* c; float* d; };\n"
           "__device__ unsigned pack(const float* x, int step) {\n"
           "  return (unsigned)vostok::f32_to_" +
           type + "(x[step]) << 16 | vostok::f32_to_" + type +
           "(x[0]);\n"
           "}\n"
           "__global__ void kernel(const __grid_constant__ Args args) {\n"
           "  int group = threadIdx.x / 4, member = threadIdx.x % 4;\n"
           "  const float* a = args.values + group * 16 + 2 * member;\n"
           "  const float* b = args.b + 2 * member * 8 + group;\n"
           "  unsigned as[4] = {pack(a, 1), pack(a + 128, 1), pack(a + 8, 1), pack(a + 136, 1)};\n"
           "  unsigned bs[4] = {pack(b, 8), pack(b + 64, 8), pack(b + 128, 8), pack(b + 192, 8)};\n"
           "  unsigned metadata = 0xdeadbeef;\n"
           "  if (member < 2) {\n"
           "    metadata = 0;\n"
           "    for (int i = 0; i < 4; ++i) {\n"
           "      metadata |= args.places[group * 8 + 4 * member + i] << 4 * i;\n"
           "      metadata |= args.places[(group + 8) * 8 + 4 * member + i] << (16 + 4 * i);\n"
           "    }\n"
           "  }\n"
           "  float cs[4];\n"
           "  for (int i = 0; i < 4; ++i) cs[i] = args.c[(group + i / 2 * 8) * 8 + 2 * member + i % 2];\n"
           "  vostok::sparse_mma_" +
           type +
           "(cs, as, bs, metadata);\n"
           "  for (int i = 0; i < 4; ++i) args.d[(group + i / 2 * 8) * 8 + 2 * member + i % 2] = cs[i];\n"
           "}\n",
       .templates = {"parts/half.h", "parts/mma.h", "parts/sparse_mma.h"}},
      {.order = order});
}

struct Operands {
  std::vector<float> values = std::vector<float>(256), b = std::vector<float>(256), c = std::vector<float>(128),
                     d = std::vector<float>(128, -1.0F);
  std::vector<unsigned> places = std::vector<unsigned>(128, 0b1110U);

  Args args() { return {values.data(), places.data(), b.data(), c.data(), d.data()}; }
  void run(Bench& bench) { bench.launch({}, {32}, args()); }
  /// A, dense.
  std::vector<float> dense() const {
    std::vector<float> a(static_cast<std::size_t>(16 * depth), 0.0F);
    for (std::size_t row = 0; row < 16; ++row)
      for (std::size_t i = 0; i < 16; ++i)
        a[row * depth + i / 2 * 4 + (places[row * 8 + i / 2] >> i % 2 * 2 & 3U)] = values[row * 16 + i];
    return a;
  }
};

}  // namespace

TEST_CASE("a sparse mma multiplies small integers exactly, whatever two of four k it names") {
  CAPTURE(seed);
  const std::vector<unsigned> pairs = {0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110};
  for (const std::string type : {"f16", "bf16"}) {
    CAPTURE(type);
    for (const Order order : orders) {
      CAPTURE(describe(order));
      Bench bench = make_bench(type, order);
      Operands x;
      std::mt19937 random(seed);
      for (auto* values : {&x.values, &x.b, &x.c})
        for (float& value : *values) value = static_cast<float>(static_cast<int>(random() % 31) - 15);
      for (unsigned& place : x.places) place = pairs[random() % pairs.size()];
      x.run(bench);
      const std::vector<float> a = x.dense();
      for (std::size_t row = 0; row < 16; ++row)
        for (std::size_t column = 0; column < 8; ++column) {
          float sum = x.c[row * 8 + column];
          for (std::size_t k = 0; k < depth; ++k) sum += a[row * depth + k] * x.b[k * 8 + column];
          CHECK(x.d[row * 8 + column] == sum);
        }
    }
  }
}

TEST_CASE("a sparse mma cuts small terms, and does not touch the elements of B that A lacks") {
  Bench bench = make_bench("f16", orders[0]);
  Operands x;
  x.b.assign(x.b.size(), NAN);
  for (std::size_t k = 2; k < depth; k += 4)
    for (std::size_t column = 0; column < 16; ++column) x.b[k * 8 + column] = 1;  // k % 4 = 2 and 3
  x.c[0] = 1;
  for (std::size_t i = 0; i < 8; ++i) x.values[i] = 0x1p-24F;
  x.c[8] = 1;
  x.values[16] = 0x1.8p-23F;
  x.run(bench);
  CHECK(x.d[0] == 1 + 0x1p-21F);
  CHECK(x.d[8] == 1 + 0x1p-23F);
}

TEST_CASE("a sparse mma whose metadata names a place twice is an error") {
  Bench bench = make_bench("f16", orders[0]);
  Operands x;
  x.places[77] = 0b0101;
  CHECK(contains(bench.failure(32, x.args()),
                 "metadata of a sparse multiplication does not name two places in ascending order"));
}
