// Pairs of numbers split into two 16-bit terms: the quick way, for finite pairs, gives the terms of the way for any
// number.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "unit/device/emulator_harness.hpp"

using namespace emulator_test;

namespace {

struct Pair {
  std::uint32_t high;
  std::uint32_t low;
};

struct Args {
  const float* values;
  Pair* quick;
  Pair* any;
  long long pairs;
};

void split(const std::string& mode, const std::vector<float>& values, std::vector<Pair>& quick,
           std::vector<Pair>& any) {
  const std::string call = "_pair<vostok::PackedMode::" + mode + ">(args.values[2 * i], args.values[2 * i + 1]);\n";
  Bench bench(
      {.text =
           "struct Args { const float* values; vostok::SplitPair* quick; vostok::SplitPair* any; long long pairs; };\n"
           "__global__ void kernel(const __grid_constant__ Args args) {\n"
           "  for (long long i = threadIdx.x; i < args.pairs; i += 256) {\n"
           "    args.quick[i] = vostok::split_finite" +
           call + "    args.any[i] = vostok::split" + call +
           "  }\n"
           "}\n",
       .templates = {"abi/enums.h", "abi/fields.h", "abi/packed_strips.h", "parts/vector.h", "parts/half.h",
                     "parts/element.h", "parts/split_number.h"}});
  quick.resize(values.size() / 2);
  any.resize(values.size() / 2);
  bench.launch({1}, {256}, Args{values.data(), quick.data(), any.data(), static_cast<long long>(quick.size())});
}

/// Magnitudes from the smallest to where the high term is still finite, of both signs.
std::vector<float> finite_values(double largest, unsigned seed) {
  std::vector<float> values = {0.0F,    -0.0F,    1.0F,         -1.0F,          1e-45F,
                               -1e-40F, 0x1p-14F, 0x1.ffcp-15F, 0x1.ffe002p13F, static_cast<float>(largest)};
  std::mt19937 random(seed);
  while (values.size() < 60000) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isfinite(value) && std::abs(value) <= largest) values.push_back(value);
  }
  return values;
}

float of_f16(std::uint32_t bits) {
  const std::uint32_t exponent = bits >> 10 & 31;
  const double magnitude =
      exponent == 0 ? std::ldexp(bits & 1023, -24) : std::ldexp((bits & 1023) + 1024, static_cast<int>(exponent) - 25);
  return static_cast<float>((bits & 0x8000) != 0 ? -magnitude : magnitude);
}

}  // namespace

TEST_CASE("the quick way to split a finite pair gives the same terms as the way for any pair, f16 and bf16") {
  constexpr unsigned seed = 21;
  CAPTURE(seed);
  for (const auto& [mode, largest] :
       {std::pair<const char*, double>{"f16x3", 65504.0}, {"bf16x3", 0x1.fep127}, {"f16_scaled", 65504.0}}) {
    const std::vector<float> values = finite_values(largest, seed);
    std::vector<Pair> quick;
    std::vector<Pair> any;
    split(mode, values, quick, any);
    int wrong = 0;
    for (std::size_t i = 0; i < quick.size(); ++i)
      if ((quick[i].high != any[i].high || quick[i].low != any[i].low) && ++wrong < 5)
        FAIL_CHECK(mode << " of " << values[2 * i] << " and " << values[2 * i + 1] << ": " << quick[i].high << " "
                        << quick[i].low << ", expected " << any[i].high << " " << any[i].low);
    CHECK(wrong == 0);
  }
}

TEST_CASE("two f16 terms of a number between 2^-2 and 2^14 are within 2^-22 of it") {
  constexpr unsigned seed = 22;
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> exponents(-2, 14);
  std::vector<float> values(20000);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = (i % 2 == 0 ? 1.0F : -1.0F) * std::exp2(exponents(random));
  std::vector<Pair> quick;
  std::vector<Pair> any;
  split("f16x3", values, quick, any);
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int shift = i % 2 == 0 ? 0 : 16;
    const double sum =
        static_cast<double>(of_f16(quick[i / 2].high >> shift & 0xffff)) + of_f16(quick[i / 2].low >> shift & 0xffff);
    largest = std::max(largest, std::abs(sum - values[i]) / std::abs(values[i]));
  }
  CHECK(largest <= 0x1p-22);
  CHECK(largest > 0x1p-26);
}
