#include "sparse/generate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "unit/sparse/files.hpp"

using namespace vostok;
using namespace vostok::sparse;

namespace {

TopologyStatistics checked_statistics(const Csr& csr) {
  REQUIRE_NOTHROW(validate(csr.rows, csr.cols, csr.row_offsets, csr.column_indices, "generated"));
  const TopologyStatistics of = statistics(csr.rows, csr.cols, csr.row_offsets, csr.column_indices);
  CHECK(of.sorted);
  CHECK_FALSE(of.duplicates);
  return of;
}

std::int64_t expected_nonzeros(std::int64_t rows, std::int64_t cols, double sparsity) {
  return std::llround(static_cast<double>(rows) * static_cast<double>(cols) * (1 - sparsity));
}

std::uint64_t fold(std::uint64_t hash, std::uint64_t value) { return (hash ^ value) * 0x100000001b3U; }

std::uint64_t hash_of(const Csr& csr) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::int64_t offset : csr.row_offsets) hash = fold(hash, static_cast<std::uint64_t>(offset));
  for (const std::int32_t column : csr.column_indices) hash = fold(hash, static_cast<std::uint64_t>(column));
  return hash;
}

}  // namespace

TEST_CASE("SplitMix64 gives its published numbers") {
  Random random(1234567);
  CHECK(random.bits() == 6457827717110365317U);
  CHECK(random.bits() == 3203168211198807973U);
  CHECK(random.bits() == 9817491932198370423U);
}

TEST_CASE("generated structures and values are the same everywhere") {
  // Recorded once: a change here invalidates every stored measurement of a generated matrix.
  CHECK(hash_of(uniform(64, 96, 0.8, 7)) == 3273673601232476267U);
  CHECK(hash_of(uniform(64, 96, 0.8, 7, 0.5)) == 350737251046706550U);
  CHECK(hash_of(power_law(100, 200, 1500, 0.8, 7)) == 1170018016792134829U);
  const std::vector<float> values = normal_values(3, 7);
  CHECK(values[0] == 0x1.e69ec2p-3F);
  CHECK(values[1] == -0x1.d6b522p+0F);
  CHECK(values[2] == 0x1.866522p-1F);
}

TEST_CASE("random numbers below an end are even and never reach it") {
  Random random(3);
  std::vector<int> counts(7);
  for (int i = 0; i < 70'000; ++i) ++counts[random.below(7)];
  for (const int count : counts) CHECK(std::abs(count - 10'000) < 500);
  CHECK(random.below(1) == 0);
}

TEST_CASE("normal values have the moments of a normal distribution") {
  const std::vector<float> values = normal_values(200'000, 11);
  double sum = 0, squares = 0, fourth = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
    fourth += value * value * value * value;
  }
  const auto count = static_cast<double>(values.size());
  CHECK(std::abs(sum / count) < 0.01);
  CHECK(squares / count == doctest::Approx(1).epsilon(0.02));
  CHECK(fourth / count == doctest::Approx(2.9).epsilon(0.05));  // 3 for the normal itself
}

TEST_CASE("a uniform structure has exactly the nonzeros asked for, in rows as equal as possible") {
  for (const double sparsity : {0.0, 0.5, 0.9, 0.98, 1.0}) {
    for (const auto& [rows, cols] : {std::pair{1L, 1L}, {64L, 33L}, {33L, 1000L}, {1000L, 7L}, {0L, 5L}, {5L, 0L}}) {
      INFO(rows, " x ", cols, " at ", sparsity);
      const TopologyStatistics of = checked_statistics(uniform(rows, cols, sparsity, 5));
      CHECK(of.nonzeros == expected_nonzeros(rows, cols, sparsity));
      CHECK(static_cast<double>(of.longest_row) < of.mean_row + 1);
    }
  }
}

TEST_CASE("columns of a uniform structure are hit evenly, by either way of choosing them") {
  for (const double sparsity : {0.5, 0.97}) {
    const Csr csr = uniform(20'000, 100, sparsity, 9);
    std::vector<double> counts(100);
    for (const std::int32_t column : csr.column_indices) ++counts[column];
    const double mean = static_cast<double>(csr.nonzeros()) / 100;
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    INFO("sparsity ", sparsity, ": ", *least, " to ", *most, ", mean ", mean);
    CHECK(*least > mean - 5 * std::sqrt(mean));
    CHECK(*most < mean + 5 * std::sqrt(mean));
  }
}

TEST_CASE("row lengths vary as asked where that is feasible") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    for (const double variation : {0.05, 0.1, 0.3, 0.6, 1.0, 1.5}) {
      for (const auto& [rows, cols, sparsity] :
           {std::tuple{512L, 2048L, 0.8}, {2048L, 512L, 0.9}, {8192L, 1024L, 0.7}}) {
        INFO("seed ", seed, ", ", rows, " x ", cols, " at ", sparsity, ", wanted CoV ", variation);
        const TopologyStatistics of = checked_statistics(uniform(rows, cols, sparsity, seed, variation));
        CHECK(of.nonzeros == expected_nonzeros(rows, cols, sparsity));
        CHECK(of.row_variation == doctest::Approx(variation).epsilon(0.03));
      }
    }
  }
}

TEST_CASE("a variation that no lengths have gives the most that there is, and legal rows") {
  for (const double sparsity : {0.5, 0.9}) {
    const TopologyStatistics of = checked_statistics(uniform(1000, 100, sparsity, 1, 1e6));
    CHECK(of.nonzeros == expected_nonzeros(1000, 100, sparsity));
    CHECK(of.longest_row <= 100);
    CHECK(of.row_variation > 0.8 * std::sqrt(sparsity / (1 - sparsity)));
  }
  CHECK(checked_statistics(uniform(1, 100, 0.5, 1, 0.5)).nonzeros == 50);
  CHECK(checked_statistics(uniform(100, 100, 0, 1, 0.5)).nonzeros == 10'000);
}

TEST_CASE("a power-law structure is skewed, exact in all and scattered") {
  const Csr csr = power_law(10'000, 10'000, 100'000, 0.8, 3);
  const TopologyStatistics of = checked_statistics(csr);
  CHECK(of.nonzeros == 100'000);
  CHECK(of.row_variation > 2);
  CHECK(of.longest_row > 1000);
  std::vector<std::int64_t> lengths;
  for (std::int64_t row = 0; row < csr.rows; ++row) lengths.push_back(csr.row_offsets[row + 1] - csr.row_offsets[row]);
  CHECK_FALSE(std::is_sorted(lengths.begin(), lengths.end(), std::greater<>()));
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  CHECK(static_cast<double>(lengths[0]) / static_cast<double>(lengths[31]) ==
        doctest::Approx(std::pow(32, 0.8)).epsilon(0.03));
}

TEST_CASE("power-law structures at the edges are legal") {
  CHECK(checked_statistics(power_law(10, 10, 100, 2, 1)).nonzeros == 100);
  CHECK(checked_statistics(power_law(10, 10, 0, 2, 1)).nonzeros == 0);
  CHECK(checked_statistics(power_law(0, 10, 0, 2, 1)).rows == 0);
  CHECK(checked_statistics(power_law(1000, 10, 500, 0, 1)).longest_row == 1);
  CHECK(checked_statistics(power_law(100'000, 50, 3000, 400, 1)).longest_row == 50);
}

TEST_CASE("generators refuse what makes no sense, naming it") {
  const auto refused = [](const char* part, auto work) {
    testing::check_refused(ErrorCode::invalid_argument, {part}, work);
  };
  refused("rows = -1", [] { uniform(-1, 4, 0.5, 1); });
  refused("cols = 4294967296", [] { uniform(4, 4294967296, 0.5, 1); });
  refused("sparsity = 1.5", [] { uniform(4, 4, 1.5, 1); });
  refused("sparsity = nan", [] { uniform(4, 4, std::nan(""), 1); });
  refused("row_variation = -1", [] { uniform(4, 4, 0.5, 1, -1); });
  refused("nonzeros = 17", [] { power_law(4, 4, 17, 1, 1); });
  refused("exponent = -1", [] { power_law(4, 4, 7, -1, 1); });
}
