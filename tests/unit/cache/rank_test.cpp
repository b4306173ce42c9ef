// Winners can be chosen again from trials, and are those that the tuner chose.
#include "cache/rank.hpp"
#include "unit/fakes/numbered_config.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "plan/vetting.hpp"
#include "tune/tuner.hpp"
#include "unit/cache/rows.hpp"
#include "unit/fakes/fake_device.hpp"

using namespace vostok;
using namespace vostok::cache;
using namespace vostok::cache::testing;

namespace {

std::string winning_tile(const Ranking& ranking) {
  REQUIRE(ranking.content.winners.size() == 1);
  return ranking.content.winners.front().winner.config.at("tile_rows");
}

/// Every candidate is code of its own, and right.
class Costing : public tune::Subject {
 public:
  explicit Costing(test::FakeDevice& device) : device_(device) {}
  tune::Compiled compile(const tune::Candidate& candidate) override {
    const int id = test::number_of(candidate.config);
    return {.code_digest = std::to_string(id), .enqueue = [this, id](Stream) { device_.note(id); }};
  }
  std::optional<std::string> verify(const tune::Compiled&) override { return std::nullopt; }

 private:
  test::FakeDevice& device_;
};

/// Two families, each with a default, in any order.
std::vector<tune::Candidate> shuffled_candidates(std::minstd_rand& random) {
  std::vector<tune::Candidate> candidates;
  for (const char* family : {"one", "other"})
    for (int i = 0; i < 6; ++i) {
      const int id = static_cast<int>(candidates.size());
      candidates.push_back(
          {.family = family, .config = test::numbered(id, static_cast<int>(random() % 4)), .is_default = i == 3});
    }
  std::shuffle(candidates.begin(), candidates.end(), random);
  return candidates;
}

}  // namespace

TEST_CASE("the same trials in any order give rank the same bytes") {
  const TemporaryFolder folder;
  std::vector<TrialRow> trials = {trial_row("1", 12), trial_row("2", 10), trial_row("4", 10.1), trial_row("8", 9, 3)};
  std::minstd_rand random(5);
  std::string first;
  for (int i = 0; i < 6; ++i) {
    std::shuffle(trials.begin(), trials.end(), random);
    const Ranking ranking = ranked({.trials = trials}, {});
    CHECK(winning_tile(ranking) ==
          "2");  // within 2 % of 10, the text that sorts first; 9 us of three rounds is no evidence
    CHECK(ranking.content.winners.front().winner.default_median_us == 12);
    CHECK(ranking.changes.size() == 1);
    write_content(ranking.content, folder / "ranked");
    if (i == 0) first = contents(folder / "ranked");
    CHECK(contents(folder / "ranked") == first);
  }
  SUBCASE("a winner that stays is no change, and is the same row") {
    const Ranking again = ranked(read_content(folder / "ranked"), {});
    CHECK(again.changes.empty());
    write_content(again.content, folder / "again");
    CHECK(contents(folder / "again") == first);
  }
  SUBCASE("a wider tie goes to the default") { CHECK(winning_tile(ranked({.trials = trials}, {.tie = 0.3})) == "1"); }
  SUBCASE("another policy's problems are left alone") {
    const Ranking cold = ranked({.trials = trials, .winners = {winner_row("16")}}, {.policy = "cold"});
    CHECK(winning_tile(cold) == "16");
    CHECK(cold.subjects == 0);
  }
  SUBCASE("code that failed anywhere does not win") {
    auto failed = trial_row("2", 1, 0, "GPU-other");
    failed.trial.status = "hung";
    trials.push_back(failed);
    CHECK(winning_tile(ranked({.trials = trials}, {})) == "4");
  }
  SUBCASE("what was only raced, and not verified, does not win") {
    for (TrialRow& row : trials)
      if (row.trial.code_digest == "code2") row.trial.reason = plan::not_verified;
    CHECK(winning_tile(ranked({.trials = trials}, {})) == "4");
  }
  SUBCASE("what an erratum masks does not win") {
    CHECK(winning_tile(ranked({.trials = trials, .errata = {{.id = "E1", .config = {{"tile_rows", "2"}}}}}, {})) ==
          "4");
  }
  SUBCASE("newer code of the same config stands for it, slower or not") {
    auto newer = trial_row("2", 30);
    newer.trial.code_digest = "newer code";
    newer.trial.measured_at += 60;
    trials.push_back(newer);
    CHECK(winning_tile(ranked({.trials = trials}, {})) == "4");
    const auto stale = stale_trials(trials);
    REQUIRE(stale.size() == 1);
    CHECK(stale.front()->trial.code_digest == "code2");
  }
}

TEST_CASE("rank chooses what the tuner chose, among equals too, in whatever order the candidates were listed") {
  for (unsigned seed = 1; seed <= 24; ++seed) {
    CAPTURE(seed);
    std::minstd_rand random(seed);
    test::FakeDevice device;
    const auto candidates = shuffled_candidates(random);
    std::vector<double> costs(candidates.size());
    for (double& cost : costs) cost = 10 + static_cast<double>(random() % 5) * 0.06;  // 2 % are 0.2
    device.cost_us = [&](int id) { return costs[static_cast<std::size_t>(id)]; };
    Costing subject(device);
    std::vector<TrialRow> trials;
    const auto keep = [&](const tune::Candidate& candidate, const tune::Result& result) {
      trials.push_back(
          {.problem = sample_problem(), .device = sample_device(), .trial = plan::to_record(candidate, result)});
    };
    const auto outcome = tune::race(device, subject, candidates, {.seed = seed, .finalists = 8, .publish = keep});
    const tune::Candidate& chosen =
        candidates.at(outcome.winner.value_or(candidates.size()));  // throws where there is no winner
    const Ranking ranking = ranked({.trials = trials}, {});
    REQUIRE(ranking.content.winners.size() == 1);
    const plan::WinnerRecord& winner = ranking.content.winners.front().winner;
    CHECK(winner.family == chosen.family);
    CHECK(winner.config == chosen.config.to_map());
  }
}
