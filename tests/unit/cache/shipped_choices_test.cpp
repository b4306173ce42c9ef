// Every choice that is shipped is one that its family's rules admit today: a choice that they refuse would serve nobody.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "base/text.hpp"
#include "cache/tuning_content.hpp"
#include "ops/conv/problem.hpp"
#include "ops/family.hpp"
#include "ops/sddmm/problem.hpp"
#include "ops/softmax/problem.hpp"
#include "ops/spmm/problem.hpp"
#include "plan/candidates.hpp"
#include "plan/features.hpp"
#include "plan/predicted_choice.hpp"
#include "unit/fakes/fake_device.hpp"

using namespace vostok;

namespace {

/// The exact part of a key as today's fields of the query's problem give it.
std::string exact_of(const ops::Query& query) {
  if (query.operation == "spmm") return ops::exact_key(static_cast<const ops::SpmmQuery&>(query).problem);
  if (query.operation == "sddmm") return ops::exact_key(static_cast<const ops::SddmmQuery&>(query).problem);
  if (query.operation == "softmax") return ops::exact_key(static_cast<const ops::SoftmaxQuery&>(query).problem);
  if (query.operation == "softmax_backward") return ops::exact_key(static_cast<const ops::SoftmaxBackwardQuery&>(query).problem);
  if (query.operation == "im2col") return ops::exact_key(static_cast<const ops::Im2colQuery&>(query).problem);
  if (query.operation == "depthwise") return ops::exact_key(static_cast<const ops::DepthwiseQuery&>(query).problem);
  if (query.operation == "bias_activation") return ops::exact_key(static_cast<const ops::BiasActivationQuery&>(query).problem);
  return "nobody says for this operation";
}

/// Where the rows that are shipped lie.
cache::TuningContent shipped() { return cache::read_content(std::filesystem::path(VOSTOK_SOURCE_FOLDER) / "cache/shipped/nvidia-h200.tuning.txt"); }

std::string words(const cache::WinnerRow& row) {
  return fmt::format("{}, {} {}", plan::key_words(row.problem), row.winner.family, to_text(row.winner.config));
}

}  // namespace

TEST_CASE("every shipped choice is of a family that is there, whose rules admit it") {
  const cache::TuningContent content = shipped();
  REQUIRE(content.winners.size() > 600);
  const test::FakeDevice device;
  for (const cache::WinnerRow& row : content.winners) {
    INFO(words(row));
    const std::shared_ptr<const ops::Query> query = plan::query_of(row.problem, device);
    REQUIRE(query != nullptr);
    CHECK(exact_of(*query) == row.problem.exact);
    const auto& families = ops::families(row.problem.operation);
    const auto family = std::find_if(families.begin(), families.end(), [&](const auto& one) { return one->name() == row.winner.family; });
    REQUIRE(family != families.end());
    const auto reason = (*family)->forbidden(*query, row.winner.config);
    CHECK_MESSAGE(!reason, reason.value_or(""));
  }
}

TEST_CASE("no shipped choice takes far longer than what the cost model expects of its own: a family that came since would serve better") {
  const cache::TuningContent content = shipped();
  const test::FakeDevice device;
  for (const cache::WinnerRow& row : content.winners) {
    const std::shared_ptr<const ops::Query> query = plan::query_of(row.problem, device);
    REQUIRE(query != nullptr);
    std::string reasons;
    const auto choice = plan::cheapest(*query, Options().max_workspace_bytes, reasons);
    REQUIRE(choice);
    const double expected_us = choice->family->predict_us(*query, choice->config);
    CHECK_MESSAGE(row.winner.median_us <= 3 * expected_us + 1, words(row), " takes ", row.winner.median_us, " us; ", choice->family->name(),
                  " is expected to take ", expected_us);
  }
}
