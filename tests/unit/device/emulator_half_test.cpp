#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "unit/device/emulator_harness.hpp"

using namespace emulator_test;

namespace {

/// A 16-bit format by its definition, in double: independent of the bit tricks under test.
struct Format {
  int mantissa_bits;
  int least_exponent;  ///< of a normal number
  double largest;
};
constexpr Format f16 = {10, -14, 65504.0};
const Format bf16 = {7, -126, std::ldexp(255.0, 120)};

double decode(std::uint16_t bits, Format format) {
  const int exponent_bits = 15 - format.mantissa_bits;
  const int exponent = bits >> format.mantissa_bits & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << format.mantissa_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1)
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(mantissa, format.least_exponent - format.mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << format.mantissa_bits),
                           exponent - 1 + format.least_exponent - format.mantissa_bits);
}

/// The nearest value of the format, ties to even (the host's rounding mode).
double rounded(float value, Format format) {
  if (!std::isfinite(value) || value == 0) return value;
  const int exponent = std::max(std::ilogb(value), format.least_exponent);
  const double unit = std::ldexp(1.0, exponent - format.mantissa_bits);
  const double result = std::nearbyint(value / unit) * unit;
  return std::abs(result) > format.largest ? std::copysign(std::numeric_limits<double>::infinity(), value) : result;
}

struct Args {
  const std::uint16_t* halves;
  float* widened;
  const float* floats;
  std::uint16_t* narrowed;
  long long count;
};

void convert(const std::string& name, const std::vector<std::uint16_t>& halves, std::vector<float>& widened,
             const std::vector<float>& floats, std::vector<std::uint16_t>& narrowed) {
  Bench bench({.text = "struct Args { const unsigned short* halves; float* widened; const float* floats; unsigned "
                       "short* narrowed; long long count; };\n"
                       "__global__ void kernel(const __grid_constant__ Args args) {\n"
                       "  for (long long i = blockIdx.x * 256 + threadIdx.x; i < args.count; i += gridDim.x * 256) {\n"
                       "    if (i < 65536) args.widened[i] = vostok::" +
                       name +
                       "_to_f32(args.halves[i]);\n"
                       "    args.narrowed[i] = vostok::f32_to_" +
                       name +
                       "(args.floats[i]);\n"
                       "  }\n"
                       "}\n",
               .templates = {"parts/half.h"}});
  widened.resize(halves.size());
  narrowed.resize(floats.size());
  bench.launch(
      {8}, {256},
      Args{halves.data(), widened.data(), floats.data(), narrowed.data(), static_cast<long long>(floats.size())});
}

/// Every value of the format, what lies just beside and halfway between neighbours, and random bits.
std::vector<float> interesting(Format format, unsigned seed) {
  std::vector<float> values;
  for (int i = 0; i < 65536; ++i) {
    const auto value = static_cast<float>(decode(static_cast<std::uint16_t>(i), format));
    const auto next = static_cast<float>(decode(static_cast<std::uint16_t>(i + 1), format));
    const auto middle = static_cast<float>((static_cast<double>(value) + next) / 2);
    for (const float at : {value, middle})
      values.insert(values.end(), {at, std::nextafter(at, -1e38F), std::nextafter(at, 1e38F)});
  }
  std::mt19937 random(seed);
  for (int i = 0; i < 200000; ++i) values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  values.insert(values.end(), {65519.996F, 65520.0F, 65536.0F, 3.4e38F, 1e-45F, -1e-45F, 0x1p-25F, 0x1.000002p-25F,
                               std::numeric_limits<float>::infinity()});
  return values;
}

void check_format(const std::string& name, Format format) {
  constexpr unsigned seed = 20;
  CAPTURE(seed);
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  const std::vector<float> floats = interesting(format, seed);
  std::vector<float> widened;
  std::vector<std::uint16_t> narrowed;
  convert(name, halves, widened, floats, narrowed);

  int wrong = 0;
  for (std::size_t i = 0; i < halves.size(); ++i) {
    const double expected = decode(halves[i], format);
    const bool good = std::isnan(expected)
                          ? std::isnan(widened[i])
                          : widened[i] == expected && std::signbit(widened[i]) == std::signbit(expected);
    if (!good) ++wrong;
  }
  CHECK(wrong == 0);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const double got = decode(narrowed[i], format);
    const double expected = rounded(floats[i], format);
    const bool good =
        std::isnan(floats[i]) ? narrowed[i] == 0x7fff : got == expected && std::signbit(got) == std::signbit(floats[i]);
    if (!good && ++wrong < 5) FAIL_CHECK(name << " of " << floats[i] << " is " << got << ", expected " << expected);
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("f16 converts exactly for all 65536 values and rounds to nearest even everywhere") {
  check_format("f16", f16);
}

TEST_CASE("bf16 converts exactly for all 65536 values and rounds to nearest even everywhere") {
  check_format("bf16", bf16);
}
