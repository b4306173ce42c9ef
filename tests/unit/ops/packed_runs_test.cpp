#include "ops/topology/packed_runs.hpp"

#include <doctest/doctest.h>

#include <string>

#include "contains.hpp"
#include "sparse/generate.hpp"
#include "sparse/packed_runs.hpp"

using namespace vostok;

namespace {

constexpr std::uint64_t seed = 62;

TopologyStatistics statistics_of(const sparse::Csr& csr) {
  return sparse::statistics(csr.rows, csr.cols, csr.row_offsets, csr.column_indices);
}

}  // namespace

TEST_CASE("runs keep to their bound, and are about as many as expected of a random matrix") {
  for (const sparse::Csr& csr : {sparse::uniform(17, 129, 0.0, seed), sparse::uniform(100, 700, 0.97, seed),
                                 sparse::power_law(64, 2000, 900, 1.2, seed)})
    for (const int gap_bits : {4, 8}) {
      INFO(csr.rows << " x " << csr.cols << ", " << csr.nonzeros() << " nonzeros, gaps of " << gap_bits << " bits");
      CHECK(sparse::packed_runs(csr, gap_bits).runs() <= ops::most_runs(statistics_of(csr), gap_bits));
    }
  for (const double sparsity : {0.3, 0.5, 0.8, 0.9, 0.95}) {
    const sparse::Csr csr = sparse::uniform(100, 4000, sparsity, seed);
    for (const int gap_bits : {4, 8}) {
      const double slots = static_cast<double>(sparse::packed_runs(csr, gap_bits).runs()) * run_slots();
      CHECK(ops::expected_slots(statistics_of(csr), gap_bits) == doctest::Approx(slots).epsilon(0.05));
    }
  }
}

TEST_CASE(
    "packed runs are declined, with a reason, where a format of theirs cannot hold the mask or would be mostly "
    "escapes") {
  const auto reason = [](const TopologyStatistics& statistics, int gap_bits) {
    return ops::packed_runs_declined(statistics, gap_bits).value_or("");
  };
  const TopologyStatistics usual{.rows = 512, .cols = 2048, .nonzeros = 200000, .longest_row = 600, .mean_row = 390};
  CHECK(reason(usual, 4).empty());
  TopologyStatistics other = usual;
  other.sorted = false;
  CHECK(test::contains(reason(other, 4), "not sorted"));
  other = usual;
  other.duplicates = true;
  CHECK(test::contains(reason(other, 4), "twice"));
  other = usual;
  other.cols = 65537;
  CHECK(test::contains(reason(other, 8), "16 bits"));
  other = usual;
  other.nonzeros = std::int64_t{1} << 31;
  CHECK(test::contains(reason(other, 8), "32 bits"));
  other = usual;
  other.nonzeros = 20000;
  CHECK(test::contains(reason(other, 4), "too narrow"));
  CHECK(reason(other, 8).empty());
}
