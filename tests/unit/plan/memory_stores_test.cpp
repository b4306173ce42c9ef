#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include "plan/stores.hpp"

using namespace vostok;
using namespace vostok::plan;

namespace {

ProblemKey problem(std::int64_t n = 64) {
  return {.operation = "spmm",
          .exact = "element=f32",
          .features = {.m = 512, .k = 256, .n = n, .nonzeros = 13107, .longest_row = 60, .row_variation = 0.25}};
}

DeviceKey gpu(const std::string& uuid) {
  return {.uuid = uuid, .name = "GPU", .architecture = "sm_90", .multiprocessors = 132};
}

WinnerRecord winner(const std::string& tile_rows) {
  return {.family = "row_tile", .config = {{"tile_rows", tile_rows}}, .median_us = 10};
}

}  // namespace

TEST_CASE("memory stores remember winners, and rank them as files do") {
  const Stores stores = memory_stores();
  stores.tuning->set_winner(problem(), gpu("b"), winner("2"));
  stores.tuning->set_winner(problem(80), gpu("a"), winner("3"));
  stores.tuning->set_winner(problem(), gpu("a"), winner("1"));
  stores.tuning->set_winner(problem(), gpu("a"), winner("8"));
  const auto found = stores.tuning->find(problem(), gpu("a"));
  REQUIRE(found.size() == 3);
  CHECK(found[0].winner.config.at("tile_rows") == "8");
  CHECK(found[0].provenance == Provenance::tuned_here);
  CHECK(found[1].provenance == Provenance::tuned_elsewhere);
  CHECK(found[2].provenance == Provenance::nearest_problem);
  CHECK(found[2].distance > 0);
  auto other = problem();
  other.exact = "element=f16";
  CHECK(stores.tuning->find(other, gpu("a")).empty());
  auto cold = problem();
  cold.policy = "cold";
  CHECK(stores.tuning->find(cold, gpu("a")).empty());
  // Each policy keeps its own.
  stores.tuning->set_winner(cold, gpu("a"), winner("5"));
  CHECK(stores.tuning->find(cold, gpu("a")).at(0).winner.config.at("tile_rows") == "5");
  CHECK(stores.tuning->find(problem(), gpu("a")).at(0).winner.config.at("tile_rows") == "8");
}

TEST_CASE("memory stores find what is stored for the plain problem where a key names one") {
  const Stores stores = memory_stores();
  stores.tuning->set_winner(problem(), gpu("a"), winner("1"));
  ProblemKey biased = problem();
  biased.exact = "bias=per_row element=f32";
  CHECK(stores.tuning->find(biased, gpu("a")).empty());
  biased.plain = problem().exact;
  const auto found = stores.tuning->find_same(biased, gpu("a"));
  REQUIRE(found.size() == 1);
  CHECK(found[0].plain);
  CHECK(found[0].provenance == Provenance::tuned_here);
  stores.tuning->set_winner(biased, gpu("b"), winner("2"));
  const auto both = stores.tuning->find(biased, gpu("a"));
  REQUIRE(both.size() == 2);
  CHECK(both[0].winner.config.at("tile_rows") == "2");
  CHECK_FALSE(both[0].plain);
  CHECK(stores.tuning->find(problem(), gpu("a")).size() == 1);
}

TEST_CASE("memory stores keep one trial of a candidate") {
  const Stores stores = memory_stores();
  TrialRecord trial{
      .family = "row_tile", .config = {{"tile_rows", "8"}}, .code_digest = "d", .status = "measured", .median_us = 3.0};
  stores.tuning->add_trial(problem(), gpu("a"), trial);
  trial.median_us = 2.0;
  stores.tuning->add_trial(problem(), gpu("a"), trial);
  trial.code_digest = "e";
  stores.tuning->add_trial(problem(), gpu("a"), trial);
  const auto trials = stores.tuning->trials(problem(), gpu("a"));
  REQUIRE(trials.size() == 2);
  CHECK(trials[0].median_us == 2.0);
  CHECK(stores.tuning->trials(problem(65), gpu("a")).empty());
  CHECK(stores.tuning->trials(problem(), gpu("b")).empty());
  auto cold = problem();
  cold.policy = "cold";
  CHECK(stores.tuning->trials(cold, gpu("a")).empty());
}

TEST_CASE("memory stores keep code until it is dropped, from any thread") {
  const Stores stores = memory_stores();
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&stores, i] {
      stores.code->put({.key = std::to_string(i)}, {.binary = std::string(static_cast<std::size_t>(i), 'x')});
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < 4; ++i) {
    const auto image = stores.code->find(std::to_string(i));
    CHECK((image && image->binary.size() == i));
  }
  stores.code->drop("2");
  CHECK_FALSE(stores.code->find("2").has_value());
  CHECK_FALSE(memory_stores().code->find("1").has_value());
}
