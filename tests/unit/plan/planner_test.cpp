#include "plan/make_plan.hpp"

#include <algorithm>

#include "plan/candidates.hpp"
#include "plan/features.hpp"
#include "unit/plan/fixture.hpp"

using namespace vostok;
using test::code_of;
using test::Fixture;

namespace {

plan::WinnerMatch match_of(const FieldMap& config, double distance = 0,
                           Provenance provenance = Provenance::tuned_here) {
  return {.winner = {.family = "row_tile", .config = config, .median_us = 2, .default_median_us = 3},
          .provenance = provenance,
          .distance = distance};
}

struct Planning {
  Fixture fixture;
  std::shared_ptr<plan::Session> session = fixture.session();
  std::shared_ptr<plan::Planner> planner = std::make_shared<plan::Planner>(session);
  Topology topology = Fixture::topology(session, sparse::uniform(64, 64, 0.8, 1));

  SpmmPlan plan(const Spmm& problem, const PlanOptions& options = {}) {
    return SpmmPlan(make_plan(*planner, problem, topology, options));
  }
  plan::Expected expected(const Spmm& problem) { return plan::expected(*planner, problem, topology, {}); }
  FieldMap default_config() { return plan(Spmm{.n = 64}, {.effort = Effort::heuristic}).config(); }
};

/// A legal config that is not the default.
FieldMap another_config(Planning& planning) {
  FieldMap config = planning.default_config();
  config["prefetch_sparse"] = config.at("prefetch_sparse") == "true" ? "false" : "true";
  return config;
}

}  // namespace

TEST_CASE("a stored choice is used, with its provenance and margin") {
  Planning planning;
  const FieldMap config = another_config(planning);
  planning.fixture.tuning->matches = {match_of(config)};
  const SpmmPlan plan = planning.plan(Spmm{.n = 64});
  CHECK(plan.config() == config);
  CHECK(plan.provenance() == Provenance::tuned_here);
  const Explanation explanation = plan.explain(Detail::trials);
  CHECK(explanation.speedup_over_default.value_or(0) == doctest::Approx(1.5));
  CHECK_FALSE(explanation.trials.empty());
  const Explanation choice = plan.explain();  // the choice alone is the default: trials cost time
  CHECK(choice.config == config);
  CHECK(choice.speedup_over_default == explanation.speedup_over_default);
  CHECK(choice.trials.empty());
  CHECK(planning.fixture.counters->tuning_hits == 1);
}

TEST_CASE("a plan tells of a choice that takes far longer than memory and the dense product ask for") {
  const auto explained = [](double median_us, bool on_gpu) {
    Planning planning;
    const FieldMap config = another_config(planning);
    if (on_gpu) planning.fixture.device->be_a_gpu();
    planning.fixture.tuning->matches = {match_of(config)};
    planning.fixture.tuning->matches.front().winner.median_us = median_us;
    return planning.plan(Spmm{.n = 64}).explain(Detail::choice);
  };
  const Explanation slow = explained(1000, true);
  CHECK(slow.bound_us.value_or(-1) > 0);
  CHECK(slow.is_slow);
  CHECK(slow.text().find("slow: more than twice") != std::string::npos);
  const Explanation quick = explained(2, true);
  CHECK(quick.bound_us == slow.bound_us);
  CHECK_FALSE(quick.is_slow);
  CHECK(quick.text().find("slow:") == std::string::npos);
  const Explanation elsewhere = explained(1000, false);
  CHECK_FALSE(elsewhere.bound_us.has_value());
  CHECK_FALSE(elsewhere.is_slow);
}

TEST_CASE("a plan explains which stored choices a known fault keeps from being used") {
  Planning planning;
  const FieldMap config = another_config(planning);
  planning.fixture.tuning->hidden = {
      {.winner = match_of(config).winner, .own = true, .by = "erratum E7 of tuning.db: it reads beside the mask"}};
  const Explanation explanation = planning.plan(Spmm{.n = 64}).explain(Detail::trials);
  const auto is_hidden = [&](const Trial& trial) {
    return trial.config == config && trial.rejected == "masked by erratum E7 of tuning.db: it reads beside the mask";
  };
  CHECK(std::count_if(explanation.trials.begin(), explanation.trials.end(), is_hidden) == 1);
  CHECK(explanation.text().find("rejected 1: row_tile: masked by erratum E7 of tuning.db") != std::string::npos);
}

TEST_CASE("neighbours are asked only where nothing that is stored for the problem serves") {
  Planning planning;
  planning.fixture.tuning->matches = {match_of(another_config(planning)),
                                      match_of(planning.default_config(), 0.4, Provenance::nearest_problem)};
  CHECK(planning.plan(Spmm{.n = 64}).provenance() == Provenance::tuned_here);
  CHECK(planning.fixture.tuning->finds == 0);
  planning.fixture.tuning->matches[0].winner.config["dense_vector"] = "3";  // forbidden
  planning.planner->forget();
  CHECK(planning.plan(Spmm{.n = 64}).provenance() == Provenance::nearest_problem);
  CHECK(planning.fixture.tuning->finds == 1);
  CHECK(planning.fixture.counters->invalid_rows == 1);
}

TEST_CASE("what plans would use without a measurement races, whether or not the effort lists it") {
  const auto raced = [](double distance, Provenance provenance, bool beside_own = false) {
    Planning planning;
    planning.session =
        planning.fixture.session({.compile_threads = 1, .worker = {.first_run = FirstRun::this_process}});
    planning.planner = std::make_shared<plan::Planner>(planning.session);
    planning.topology = Fixture::topology(planning.session, sparse::uniform(64, 64, 0.8, 1));
    FieldMap unlisted = planning.default_config();
    unlisted["loads_in_flight"] = "2";
    planning.fixture.tuning->matches = {match_of(unlisted, distance, provenance)};
    if (beside_own) planning.fixture.tuning->matches.push_back(match_of(planning.default_config()));
    planning.plan(Spmm{.n = 64}, {.effort = Effort::quick, .budget_seconds = 60, .family = "row_tile"});
    const std::vector<plan::TrialRecord>& trials = planning.fixture.tuning->added;
    CHECK(trials.size() > 1);
    return std::count_if(trials.begin(), trials.end(),
                         [&](const plan::TrialRecord& trial) { return trial.config == unlisted; });
  };
  CHECK(raced(0, Provenance::tuned_here) == 1);
  CHECK(raced(0, Provenance::shipped) == 1);
  CHECK(raced(0.4, Provenance::nearest_problem) == 1);
  CHECK(raced(0.4, Provenance::nearest_problem, true) == 0);
}

TEST_CASE(
    "a choice for the same product without its bias serves under its own provenance, says so and claims no time") {
  const Spmm biased{.n = 64, .epilogue = {.bias = Bias::per_row, .activation = Activation::relu}};
  Planning planning;
  const FieldMap config = another_config(planning);
  planning.fixture.tuning->matches = {match_of(config)};
  planning.fixture.tuning->matches.front().plain = true;
  planning.fixture.tuning->matches.front().device.name = "some GPU";
  const SpmmPlan plan = planning.plan(biased);
  CHECK(plan.config() == config);
  CHECK(plan.provenance() == Provenance::tuned_here);
  const Explanation explanation = plan.explain(Detail::choice);
  CHECK(explanation.note == "for the same problem without epilogue.activation=relu epilogue.bias=per_row, on some GPU");
  CHECK_FALSE(explanation.median_us.has_value());
  CHECK_FALSE(explanation.speedup_over_default.has_value());
  CHECK(planning.fixture.tuning->finds == 0);

  planning.fixture.tuning->matches.front().distance = 0.4;
  planning.fixture.tuning->matches.front().provenance = Provenance::nearest_problem;
  planning.planner->forget();
  const std::string note = planning.plan(biased).explain(Detail::choice).note;
  CHECK(note.starts_with(
      "for the same problem without epilogue.activation=relu epilogue.bias=per_row, at distance 0.40"));
}

TEST_CASE(
    "an effort that measures does not take a choice for the same product without its bias for its own, and races it") {
  Planning planning;
  planning.session = planning.fixture.session({.compile_threads = 1, .worker = {.first_run = FirstRun::this_process}});
  planning.planner = std::make_shared<plan::Planner>(planning.session);
  planning.topology = Fixture::topology(planning.session, sparse::uniform(64, 64, 0.8, 1));
  const FieldMap config = another_config(planning);
  planning.fixture.tuning->matches = {match_of(config)};
  test::ScriptedTuning& tuning = *planning.fixture.tuning;
  const auto races = [&](bool plain) {
    tuning.matches.front().plain = plain;
    planning.planner->forget();
    const int before = tuning.additions;
    planning.plan(Spmm{.n = 64, .epilogue = {.bias = Bias::per_row}},
                  {.effort = Effort::quick, .budget_seconds = 60, .family = "row_tile"});
    return tuning.additions > before;
  };
  CHECK(races(true));
  CHECK(tuning.added.size() > 1);
  const auto raced = std::find_if(tuning.added.begin(), tuning.added.end(),
                                  [&](const plan::TrialRecord& trial) { return trial.config == config; });
  REQUIRE(raced != tuning.added.end());
  // Now all was tried: a choice of this very problem would be taken.
  tuning.matches.front().winner.effort = Effort::full;
  tuning.matches.front().winner.code_digest = raced->code_digest;
  CHECK_FALSE(races(false));
  CHECK(races(true));
}

TEST_CASE(
    "where only tuned choices count, one for the same product without its bias does, and one for a neighbour does "
    "not") {
  Planning planning;
  planning.session = planning.fixture.session({.cache_only = true, .compile_threads = 1});
  planning.planner = std::make_shared<plan::Planner>(planning.session);
  planning.topology = Fixture::topology(planning.session, sparse::uniform(64, 64, 0.8, 1));
  Planning other;
  planning.fixture.tuning->matches = {match_of(other.default_config())};
  planning.fixture.tuning->matches.front().plain = true;
  const Spmm biased{.n = 64, .epilogue = {.bias = Bias::per_row}};
  CHECK(planning.plan(biased).provenance() == Provenance::tuned_here);
  planning.fixture.tuning->matches.front().provenance = Provenance::nearest_problem;
  planning.fixture.tuning->matches.front().distance = 0.4;
  planning.planner->forget();
  CHECK(code_of([&] { planning.plan(biased); }) == ErrorCode::missing_choice);
}

TEST_CASE("a neighbour's choice says its distance and claims no time") {
  Planning planning;
  planning.fixture.tuning->matches = {match_of(another_config(planning), 0.4, Provenance::nearest_problem)};
  const Explanation explanation = planning.plan(Spmm{.n = 64}).explain();
  CHECK(explanation.provenance == Provenance::nearest_problem);
  CHECK(explanation.note.find("0.40") != std::string::npos);
  CHECK_FALSE(explanation.median_us.has_value());
}

TEST_CASE(
    "a neighbour's choice that the cost models expect to take far longer than their own is passed over, one for this "
    "very problem is not") {
  const Spmm problem{.n = 256};
  const auto large = [] {
    Planning planning;
    planning.topology = Fixture::topology(planning.session, sparse::uniform(1024, 1024, 0.8, 1));
    return planning;
  };
  const SpmmPlan standard = large().plan(problem, {.effort = Effort::heuristic});
  const ops::Query& query = *standard.state()->choices.front().query;
  std::string reasons;
  const auto best = plan::cheapest(query, Options().max_workspace_bytes, reasons);
  REQUIRE(best.has_value());
  /// Predicted to take `least` to `most` times the best.
  const auto config_of = [&](double least, double most) {
    for (const tune::Candidate& candidate : plan::all_candidates(query, Options().max_workspace_bytes)) {
      if (candidate.family != "row_tile") continue;
      const double times = ops::find_family("spmm", "row_tile")->predict_us(query, candidate.config) / best->us;
      if (times > least && times < most) return candidate.config.to_map();
    }
    FAIL("no config takes ", least, " to ", most, " times the best");
    return FieldMap();
  };
  const auto is_chosen = [&](const FieldMap& config, double distance, Provenance provenance) {
    Planning planning = large();
    planning.fixture.tuning->matches = {match_of(config, distance, provenance)};
    return planning.plan(problem).config() == config;
  };
  const FieldMap slow = config_of(2, 1000);
  CHECK(is_chosen(slow, 0, Provenance::shipped));
  CHECK_FALSE(is_chosen(slow, 0.05, Provenance::nearest_problem));
  CHECK_FALSE(is_chosen(slow, 0.4, Provenance::nearest_problem));
  const FieldMap slower = config_of(1.25, 1.45);
  CHECK(is_chosen(slower, 0.05, Provenance::nearest_problem));
  CHECK_FALSE(is_chosen(slower, 0.4, Provenance::nearest_problem));
}

TEST_CASE("stored choices that the rules forbid or that nobody knows are counted and passed over") {
  Planning planning;
  FieldMap forbidden = planning.default_config();
  forbidden["dense_vector"] = "3";
  FieldMap unparsable = planning.default_config();
  unparsable["tile_rows"] = "many";
  plan::WinnerMatch unknown = match_of(planning.default_config());
  unknown.winner.family = "of_the_future";
  const FieldMap good = another_config(planning);
  planning.fixture.tuning->matches = {match_of(forbidden), match_of(unparsable), unknown, match_of(good)};
  CHECK(planning.plan(Spmm{.n = 64}).config() == good);
  CHECK(planning.fixture.counters->invalid_rows == 3);
}

TEST_CASE("a stored choice that the rules forbid counts once for a plan that races, too") {
  Planning planning;
  FieldMap forbidden = planning.default_config();
  forbidden["dense_vector"] = "3";
  planning.fixture.tuning->matches = {match_of(forbidden)};
  planning.plan(Spmm{.n = 64}, {.effort = Effort::full, .budget_seconds = 0});
  CHECK(planning.fixture.counters->invalid_rows == 1);
}

TEST_CASE("what a problem is expected to take is looked up once, and anew after a measurement") {
  Planning planning;
  const Spmm problem{.n = 64};
  const FieldMap config = planning.default_config();
  test::ScriptedTuning& tuning = *planning.fixture.tuning;
  tuning.matches = {match_of(config, 0.05, Provenance::nearest_problem)};
  const double of_neighbour = planning.expected(problem).us();
  tuning.matches = {match_of(config)};
  CHECK(planning.expected(problem).us() == of_neighbour);
  CHECK(tuning.same_finds == 1);
  CHECK(tuning.finds == 1);
  planning.plan(problem, {.effort = Effort::full, .budget_seconds = 0});
  CHECK(planning.expected(problem).us() == 2);
  CHECK(planning.expected(problem).measured_us == 2);
  CHECK(tuning.finds == 1);  // neighbours are not asked
  tuning.matches.clear();
  planning.planner->forget();
  CHECK(planning.expected(problem).us() != 2);
}

TEST_CASE("a stored choice that the rules forbid counts for the plan, not for what it is expected to take") {
  Planning planning;
  FieldMap forbidden = planning.default_config();
  forbidden["dense_vector"] = "3";
  planning.fixture.tuning->matches = {match_of(forbidden)};
  planning.expected(Spmm{.n = 64});
  CHECK(planning.fixture.counters->invalid_rows == 0);
  planning.plan(Spmm{.n = 64});
  CHECK(planning.fixture.counters->invalid_rows == 1);
}

TEST_CASE("a stored choice whose kernel does not compile falls back to the heuristic with one warning") {
  Planning planning;
  const FieldMap standard = planning.default_config();
  planning.fixture.tuning->matches = {match_of(another_config(planning))};
  planning.fixture.device->fake_compiler.on_compile = [](const device::Source&) {
    fail(ErrorCode::compile_failed, "cannot compile: broken");
  };
  const SpmmPlan plan = planning.plan(Spmm{.n = 64});
  CHECK(plan.config() == standard);
  CHECK(plan.provenance() == Provenance::heuristic);
  CHECK(planning.fixture.log.size() == 1);
}

TEST_CASE("effort heuristic asks no store") {
  Planning planning;
  planning.plan(Spmm{.n = 64}, {.effort = Effort::heuristic});
  CHECK(planning.fixture.tuning->finds == 0);
}

TEST_CASE("a plan of one family considers no other, and a family that nobody knows is refused by name") {
  Planning planning;
  planning.fixture.tuning->matches = {match_of(planning.default_config())};
  const std::string usual = planning.plan(Spmm{.n = 64}).family();
  CHECK(usual == "row_tile");
  CHECK(planning.plan(Spmm{.n = 64}, {.family = "nonzero_split"}).family() == "nonzero_split");
  CHECK(planning.plan(Spmm{.n = 64}, {.effort = Effort::heuristic, .family = "row_tile"}).family() == "row_tile");
  CHECK(planning.plan(Spmm{.n = 64}).family() == usual);
  CHECK(code_of([&] { planning.plan(Spmm{.n = 64}, {.family = "row_tiles"}); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { planning.plan(Spmm{.n = 64}, {.family = "sparse_vector"}); }) == ErrorCode::unsupported);
}

TEST_CASE("planning on a stream that is being captured is refused before anything else") {
  Planning planning;
  planning.fixture.device->capturing = true;
  CHECK(code_of([&] { planning.plan(Spmm{.n = -1}); }) == ErrorCode::capture_active);
}

TEST_CASE("a plan for several n decides each and executes the one that serves") {
  Planning planning;
  const SpmmPlan plan = planning.plan(Spmm{.n_values = {8, 64}});
  CHECK(plan.state()->choices.size() == 4);
  CHECK(plan.state()->choice_for(8).query->n == ops::SizeRange{4, 8, 4});
  CHECK(plan.state()->choice_for(9).query->n == ops::SizeRange{9, 64});
  CHECK(plan.config() == plan.state()->choice_for(64).decision->config.to_map());
  CHECK(plan.config().at("dense_vector") == "4");
  const int launches = planning.fixture.device->launches;
  plan.execute(nullptr,
               {.values = test::no_memory(0), .dense = test::no_memory(1), .output = test::no_memory(2), .n = 9});
  CHECK(planning.fixture.device->launches == launches + 1);
}

TEST_CASE("device memory goes with the last handle") {
  Fixture fixture;
  {
    auto session = fixture.session();
    Topology topology = Fixture::topology(session, sparse::uniform(16, 16, 0.5, 1));
    CHECK(topology.device_bytes() > 0);
    CHECK(fixture.device->allocations_alive >= 2);
    const auto planner = std::make_shared<plan::Planner>(session);
    const SpmmPlan plan(make_plan(*planner, Spmm{.n = 4}, topology, {}));
    topology = Topology();
    CHECK(fixture.device->allocations_alive >= 2);
  }
  CHECK(fixture.device->allocations_alive == 0);
}

TEST_CASE("more streams than a topology can remember keep its memory until the session ends") {
  Fixture fixture;
  auto session = fixture.session();
  {
    const Topology topology = Fixture::topology(session, sparse::uniform(16, 16, 0.5, 1));
    for (std::uintptr_t i = 1; i <= 40; ++i) topology.state()->note_use(reinterpret_cast<Stream>(i * 64));
  }
  CHECK(fixture.device->allocations_alive > 0);
  session.reset();
  CHECK(fixture.device->allocations_alive == 0);
}

TEST_CASE("masks of one density share a bucket, others do not") {
  const auto bucket = [](double sparsity, std::uint64_t seed) {
    const sparse::Csr csr = sparse::uniform(256, 512, sparsity, seed);
    return plan::feature_bucket(sparse::statistics(csr.rows, csr.cols, csr.row_offsets, csr.column_indices));
  };
  CHECK(bucket(0.9, 1) == bucket(0.9, 2));
  CHECK(bucket(0.9, 1) != bucket(0.7, 1));
}

TEST_CASE("a stream set remembers each stream once, and the legacy stream for what only a thread has a name for") {
  plan::StreamSet set;
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (const Stream legacy : {Stream{nullptr}, legacy_stream, per_thread_stream}) set.note(legacy);
    set.note(reinterpret_cast<Stream>(std::uintptr_t{64}));
  }
  CHECK(set.streams() == std::vector<Stream>{nullptr, reinterpret_cast<Stream>(std::uintptr_t{64})});
  CHECK_FALSE(set.overflowed());
}
