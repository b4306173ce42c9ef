// Every choice that is shipped is one that its family's rules admit today: a choice that they refuse would serve nobody.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>

#include "base/text.hpp"
#include "cache/tuning_content.hpp"
#include "ops/family.hpp"
#include "ops/sddmm/problem.hpp"
#include "ops/softmax/problem.hpp"
#include "ops/spmm/problem.hpp"
#include "unit/fakes/fake_device.hpp"

using namespace vostok;

namespace {

/// The value of a field in the text of a problem's exact part.
std::string field(const std::string& exact, const std::string& name) {
  std::istringstream words(exact);
  for (std::string word; words >> word;)
    if (word.starts_with(name + "=")) return word.substr(name.size() + 1);
  return "";
}

Dtype element_of(const std::string& exact) {
  const std::string text = field(exact, "element");
  if (text == "f16") return Dtype::f16;
  return text == "bf16" ? Dtype::bf16 : Dtype::f32;
}

Layout layout_of(const std::string& exact, const std::string& name) {
  return field(exact, name) == "column_major" ? Layout::column_major : Layout::row_major;
}

TopologyStatistics statistics_of(const plan::Features& f) {
  return {.rows = f.m,
          .cols = f.k,
          .nonzeros = f.nonzeros,
          .longest_row = f.longest_row,
          .mean_row = static_cast<double>(f.nonzeros) / static_cast<double>(std::max<std::int64_t>(f.m, 1)),
          .row_variation = f.row_variation};
}

/// The query of a stored problem. Those that are shipped differ from a plain problem in few fields; the caller compares the exact parts.
std::shared_ptr<const ops::Query> query_of(const plan::ProblemKey& key, const device::Device* device) {
  const TopologyStatistics statistics = statistics_of(key.features);
  const std::int64_t n = key.features.n;
  const Dtype element = element_of(key.exact);
  const bool persists = field(key.exact, "value_lifetime") == "persistent";
  if (key.operation == "spmm") {
    const Spmm problem{.n = n,
                       .element = element,
                       .sparse_transposed = field(key.exact, "sparse_transposed") == "true",
                       .dense_layout = layout_of(key.exact, "dense_layout"),
                       .output_layout = layout_of(key.exact, "output_layout"),
                       .math = field(key.exact, "math") == "strict" ? Math::strict : Math::accurate,
                       .value_lifetime = persists ? ValueLifetime::persistent : ValueLifetime::per_call};
    return ops::make_query(problem, statistics, {n, n}, device);
  }
  if (key.operation == "sddmm") return ops::make_query(Sddmm{.n = n, .element = element}, statistics, {n, n}, device);
  return ops::make_query(Softmax{.element = element}, statistics, {n, n}, device);
}

}  // namespace

TEST_CASE("every shipped choice is of a family that is there, whose rules admit it") {
  const std::filesystem::path file = std::filesystem::path(VOSTOK_SOURCE_FOLDER) / "cache/shipped/nvidia-h200.tuning.txt";
  const cache::TuningContent content = cache::read_content(file);
  REQUIRE(content.winners.size() > 600);
  const test::FakeDevice device;
  for (const cache::WinnerRow& row : content.winners) {
    INFO(row.problem.operation, " m ", row.problem.features.m, " k ", row.problem.features.k, " n ", row.problem.features.n, " nonzeros ",
         row.problem.features.nonzeros, ", ", row.winner.family, " ", to_text(row.winner.config));
    const std::shared_ptr<const ops::Query> query = query_of(row.problem, &device);
    CHECK(query->exact == row.problem.exact);
    const auto& families = ops::families(row.problem.operation);
    const auto family = std::find_if(families.begin(), families.end(), [&](const auto& one) { return one->name() == row.winner.family; });
    REQUIRE(family != families.end());
    const auto reason = (*family)->forbidden(*query, row.winner.config);
    CHECK_MESSAGE(!reason, reason.value_or(""));
  }
}
