// The numbers that decide which probabilities are dropped: as often as the rate says, and no row, column, pair or
// rectangle of them tells of another.
#include <abi/dropout.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sparse/attention_reference.hpp"

namespace vostok::sparse {
namespace {

constexpr std::int64_t rows = 512, columns = 384;

/// Of a matrix of elements: 1 - rate where one is kept, else -rate, over the deviation of that.
class Deviations {
 public:
  /// number(row, column) is below 2^32.
  template <class Number>
  Deviations(float rate, Number number) : at_(static_cast<std::size_t>(rows * columns)) {
    const double share = rate, deviation = std::sqrt(share * (1 - share));
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        at_[i * columns + j] = ((number(i, j) >= dropped_below(rate) ? 1 : 0) - (1 - share)) / deviation;
  }

  double at(std::int64_t i, std::int64_t j) const { return at_[i * columns + j]; }

  /// How many of its own deviations the sum of a product over all places has. product(i, j) is of places up to `down`
  /// rows and `right` columns further.
  template <class Product>
  double sum(std::int64_t down, std::int64_t right, Product product) const {
    double sum = 0;
    for (std::int64_t i = 0; i + down < rows; ++i)
      for (std::int64_t j = 0; j + right < columns; ++j) sum += product(i, j);
    return std::abs(sum) / std::sqrt(static_cast<double>((rows - down) * (columns - right)));
  }

 private:
  std::vector<double> at_;
};

/// The largest of all statistics, each about 1 where elements are independent.
double worst(const Deviations& of) {
  double worst = of.sum(0, 0, [&](std::int64_t i, std::int64_t j) { return of.at(i, j); });
  for (std::int64_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < columns; ++j) sum += of.at(i, j);
    worst = std::max(worst, std::abs(sum) / std::sqrt(static_cast<double>(columns)));
  }
  for (std::int64_t j = 0; j < columns; ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i < rows; ++i) sum += of.at(i, j);
    worst = std::max(worst, std::abs(sum) / std::sqrt(static_cast<double>(rows)));
  }
  const std::int64_t steps[] = {0, 1, 2, 3, 4, 7, 8, 16, 17, 32, 64, 128, 200, 256};
  for (const std::int64_t down : steps)
    for (const std::int64_t right : steps) {
      if (down + right == 0) continue;
      const auto pair = [&](std::int64_t i, std::int64_t j) { return of.at(i, j) * of.at(i + down, j + right); };
      worst = std::max(worst, of.sum(down, right, pair));
      if (down == 0 || right == 0) continue;
      worst = std::max(worst, of.sum(down, right, [&](std::int64_t i, std::int64_t j) {
        return pair(i, j) * of.at(i + down, j) * of.at(i, j + right);
      }));
    }
  return worst;
}

/// Of about 1300 sums the largest is 3.4 on average, and above 6 once in a million times.
constexpr double most = 6;

Deviations deviations(float rate, const DropoutKey& key, unsigned row_step = 1, unsigned column_step = 1) {
  return {rate, [&](std::int64_t i, std::int64_t j) {
            return dropout_number(key, static_cast<unsigned>(i) * row_step, static_cast<unsigned>(j) * column_step);
          }};
}

TEST_CASE("elements are dropped as often as the rate says, in rows, columns, pairs and rectangles") {
  std::uint64_t seed = 20;
  for (const float rate : {0.1F, 0.5F, 0.75F}) {
    for (const auto& [row_step, column_step] : {std::pair{1U, 1U}, {64U, 1024U}, {65536U, 1U}}) {
      CAPTURE(rate);
      CAPTURE(column_step);
      CAPTURE(++seed);
      CHECK(worst(deviations(rate, dropout_key(seed, 3, 5), row_step, column_step)) < most);
    }
  }
  CHECK(worst(deviations(0.1F, dropout_key(0, 0, 0))) < most);
}

TEST_CASE("the test of dropped elements sees hashes of rows and columns that were only joined by xor") {
  const auto joined = [](std::int64_t i, std::int64_t j) {
    return mix_one_to_one(static_cast<unsigned>(i)) ^ mix_one_to_one(static_cast<unsigned>(j) + 77);
  };
  CHECK(worst({0.5F, joined}) > 2 * most);
  const auto product = [key = dropout_key(20, 3, 5)](std::int64_t i, std::int64_t j) {
    const std::uint64_t both =
        static_cast<std::uint64_t>(static_cast<unsigned>(i) ^ key.row) * (static_cast<unsigned>(j) ^ key.column);
    return static_cast<unsigned>(both >> 32);
  };
  CHECK(worst({0.5F, product}) > 2 * most);
}

TEST_CASE("seeds, offsets and heads that are neighbours drop other elements, each like any other") {
  constexpr float rate = 0.2F;
  const Deviations first = deviations(rate, dropout_key(7, 9, 2));
  for (const DropoutKey& key : {dropout_key(8, 9, 2), dropout_key(7, 10, 2), dropout_key(7, 9, 3), dropout_key(9, 7, 2),
                                dropout_key(7, 2, 9), dropout_key(7ULL << 32, 9, 2)}) {
    const Deviations other = deviations(rate, key);
    for (const std::int64_t step : {0, 1, 8, 64}) {
      CAPTURE(step);
      CHECK(first.sum(step, step, [&](std::int64_t i, std::int64_t j) {
        return first.at(i, j) * other.at(i + step, j + step);
      }) < most);
    }
  }
}

TEST_CASE("a rate is a share of 32-bit numbers, and what is kept makes up for what is dropped") {
  CHECK(dropped_below(0.5F) == 0x80000000U);
  CHECK(dropped_below(0x1p-32F) == 1);
  CHECK(dropped_below(0x1.fffffep-1F) == 0xffffff00U);
  const AttentionDropout dropout{.rate = 0.25F, .seed = 1, .offset = 2, .head = 3};
  double sum = 0;
  for (std::int64_t j = 0; j < 40'000; ++j) sum += dropout.factor(j / 200, j % 200);
  CHECK(sum / 40'000 == doctest::Approx(1).epsilon(0.015));
  CHECK(AttentionDropout{}.factor(1, 2) == 1);
}

}  // namespace
}  // namespace vostok::sparse
