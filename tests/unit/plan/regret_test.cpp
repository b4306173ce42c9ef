#include "plan/regret.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "plan/nearest.hpp"

using namespace vostok;
using namespace vostok::plan;

namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;
const DeviceKey h200{
    .uuid = "GPU-1", .name = "NVIDIA H200", .architecture = "sm_90", .multiprocessors = 132, .memory_bytes = 140 * gib};
const DeviceKey another_h200{
    .uuid = "GPU-2", .name = "NVIDIA H200", .architecture = "sm_90", .multiprocessors = 132, .memory_bytes = 140 * gib};
const DeviceKey h100{
    .uuid = "GPU-3", .name = "NVIDIA H100", .architecture = "sm_90", .multiprocessors = 114, .memory_bytes = 80 * gib};

const FieldMap wide = {{"tile", "64"}};
const FieldMap narrow = {{"tile", "8"}};

TrialRecord trial(const std::string& family, const FieldMap& config, double us, int rounds = 15,
                  bool is_default = false) {
  return {.family = family,
          .config = config,
          .code_digest = family,
          .is_default = is_default,
          .status = "measured",
          .median_us = us,
          .rounds = rounds};
}

/// A problem with n columns whose winner is the first trial.
TunedProblem tuned(std::int64_t n, const DeviceKey& device, const std::vector<TrialRecord>& trials,
                   const std::string& policy = "warm") {
  TunedProblem problem{
      .problem =
          {.operation = "spmm",
           .exact = "element=f32",
           .features = {.m = 1024, .k = 1024, .n = n, .nonzeros = 100'000, .longest_row = 120, .row_variation = 0.1},
           .policy = policy},
      .device = device,
      .trials = trials};
  problem.winner = WinnerRecord{.family = trials.front().family,
                                .config = trials.front().config,
                                .median_us = trials.front().median_us.value_or(0)};
  return problem;
}

std::optional<std::pair<std::string, FieldMap>> unknown(const ProblemKey&, const DeviceKey&) { return std::nullopt; }

}  // namespace

TEST_CASE("a problem that is left out takes its nearest neighbour's choice, at the time that this took here") {
  const std::vector<TunedProblem> rows = {
      tuned(64, h200, {trial("tile", wide, 10), trial("tile", narrow, 16, 15, true)}),
      tuned(96, h200, {trial("tile", narrow, 20, 15, true), trial("tile", wide, 30)}),
      tuned(4096, h200, {trial("split", wide, 100)}),  // too far from both
  };
  const std::vector<LeftOut> all = leave_each_out(rows, unknown);
  REQUIRE(all.size() == 3);
  CHECK(all[0].neighbour_us == 16);  // 96's narrow tile on 64
  CHECK(all[0].neighbour == Provenance::nearest_problem);
  CHECK(all[0].distance == doctest::Approx(ProblemWeights::n * std::log2(1.5)));
  CHECK(all[0].default_us == 16);
  CHECK(all[1].neighbour_us == 30);
  CHECK(all[1].default_us == 20);
  CHECK(!all[2].neighbour_us);
  CHECK(!all[2].default_us);

  const std::vector<Regret> regret = regrets(all);
  REQUIRE(regret.size() == 3);
  CHECK(regret[0].way == "neighbour");
  CHECK(regret[0].problems == 2);
  CHECK(regret[0].absent == 1);
  CHECK(regret[0].geomean == doctest::Approx(std::sqrt(1.6 * 1.5)));
  CHECK(regret[0].worst == doctest::Approx(1.6));
  CHECK(regret[0].worst_problem.find("n 64 ") != std::string::npos);
  CHECK(regret[1].problems == 0);
  CHECK(regret[1].geomean == 0);
  CHECK(regret[2].geomean == doctest::Approx(std::sqrt(1.6)));
}

TEST_CASE("a choice that was not measured on the problem gives way to the next neighbour's") {
  const std::vector<TunedProblem> rows = {
      tuned(64, h200, {trial("tile", wide, 10), trial("tile", narrow, 12)}),
      tuned(72, h200, {trial("other", wide, 11)}),
      tuned(128, h200, {trial("tile", narrow, 20)}),
  };
  CHECK(leave_each_out(rows, unknown)[0].neighbour_us == 12);
}

TEST_CASE("other devices of the model are hidden too, other models are neighbours, and policies are kept apart") {
  const std::vector<TrialRecord> here = {trial("tile", wide, 10), trial("tile", narrow, 15)};
  const std::vector<TunedProblem> same_model = {tuned(64, h200, here), tuned(64, another_h200, here)};
  for (const LeftOut& left_out : leave_each_out(same_model, unknown)) CHECK(!left_out.neighbour_us);

  const std::vector<TunedProblem> two_models = {tuned(64, h200, here), tuned(64, h100, {trial("tile", narrow, 20)})};
  const LeftOut left_out = leave_each_out(two_models, unknown).front();
  CHECK(left_out.neighbour_us == 15);
  CHECK(left_out.neighbour == Provenance::nearest_device);

  const std::vector<TunedProblem> two_policies = {tuned(64, h200, here), tuned(72, h200, here, "cold")};
  for (const LeftOut& apart : leave_each_out(two_policies, unknown)) CHECK(!apart.neighbour_us);
}

TEST_CASE("the cost model's choice counts by its most thorough measurement") {
  const std::vector<TunedProblem> rows = {
      tuned(64, h200, {trial("tile", wide, 10), trial("tile", narrow, 11, 3), trial("tile", narrow, 14, 15)})};
  const auto narrow_tile = [&](const ProblemKey&, const DeviceKey&) { return std::pair{std::string("tile"), narrow}; };
  const std::vector<Regret> regret = regrets(leave_each_out(rows, narrow_tile));
  CHECK(regret[1].way == "heuristic");
  CHECK(regret[1].geomean == doctest::Approx(1.4));
}
