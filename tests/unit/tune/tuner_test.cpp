#include "tune/tuner.hpp"
#include "unit/fakes/numbered_config.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "tune/samples.hpp"
#include "unit/fakes/fake_device.hpp"

using namespace vostok;
using tune::Candidate;
using tune::Result;

namespace {

/// Candidates numbered by their "id" field; each can be told to fail in one way.
class FakeSubject : public tune::Subject {
 public:
  explicit FakeSubject(test::FakeDevice& device) : device_(device) {}
  std::set<int> refused, spilling, wrong;

  tune::Compiled compile(const Candidate& candidate) override {
    const int id = test::number_of(candidate.config);
    if (refused.count(id) > 0) fail(ErrorCode::compile_failed, "cannot compile candidate {}", id);
    return {.code_digest = std::to_string(id),
            .screened = spilling.count(id) > 0 ? "spills" : "",
            .enqueue = [this, id](Stream) { device_.note(id); }};
  }
  std::optional<std::string> verify(const tune::Compiled& compiled) override {
    verified.insert(std::stoi(compiled.code_digest));
    if (wrong.count(std::stoi(compiled.code_digest)) > 0) return "error 1 is above the tolerance";
    return std::nullopt;
  }
  std::set<int> verified;

 private:
  test::FakeDevice& device_;
};

std::vector<Candidate> candidates(int count, int default_id) {
  std::vector<Candidate> list;
  list.reserve(static_cast<std::size_t>(count));
  for (int id = 0; id < count; ++id)
    list.push_back({.family = "fake", .config = test::numbered(id), .is_default = id == default_id});
  return list;
}

}  // namespace

TEST_CASE("the fastest candidate wins and every candidate has a result") {
  test::FakeDevice device;
  device.cost_us = [](int id) { return id == 77 ? 5.0 : 10.0 + id; };
  FakeSubject subject(device);
  std::set<std::size_t> published;
  const auto list = candidates(100, 3);
  const auto outcome = tune::race(device, subject, list, {.publish = [&](const Candidate&, const Result& result) {
                                    CHECK(published.insert(result.candidate).second);
                                  }});
  CHECK(outcome.winner == 77U);
  CHECK(published.size() == 100);
  for (const Result& result : outcome.results) CHECK(result.status == "measured");
  CHECK(outcome.results[77].median_us.value_or(-1) == doctest::Approx(5.0));
}

TEST_CASE("the default is measured to the end however slow it is") {
  test::FakeDevice device;
  device.cost_us = [](int id) { return id == 9 ? 500.0 : 1.0 + id; };
  FakeSubject subject(device);
  const auto outcome = tune::race(device, subject, candidates(10, 9), {});
  CHECK(outcome.results[9].rounds == outcome.results[0].rounds);
  CHECK(subject.verified.count(9) == 1);
}

TEST_CASE("a default that is unlikely to win is measured where there is time, and then no longer than others") {
  test::FakeDevice device;
  device.cost_us = [](int id) { return id == 9 ? 500.0 : 1.0 + 0.01 * id; };
  FakeSubject subject(device);
  std::vector<Candidate> list = candidates(10, 9);
  list[9].unlikely = true;
  const auto outcome = tune::race(device, subject, list, {});
  CHECK(outcome.results[9].status == "measured");
  CHECK(outcome.results[9].rounds < outcome.results[0].rounds);
  CHECK(tune::race(device, subject, list, {.budget_seconds = -1}).results[9].status == "not_reached");
}

TEST_CASE("refused, spilling and wrong candidates lose and keep their reason") {
  test::FakeDevice device;
  device.cost_us = [](int id) { return 1.0 + 0.1 * id; };
  FakeSubject subject(device);
  subject.refused = {0};
  subject.spilling = {1};
  subject.wrong = {2};
  const auto outcome = tune::race(device, subject, candidates(6, 5), {});
  CHECK(outcome.results[0].status == "compile_failed");
  CHECK(outcome.results[0].reason == "cannot compile candidate 0");
  CHECK(outcome.results[1].status == "screened");
  CHECK(outcome.results[2].status == "wrong");
  CHECK(outcome.winner == 3U);
}

TEST_CASE("where nothing survives there is no winner") {
  test::FakeDevice device;
  FakeSubject subject(device);
  subject.refused = {0, 1};
  CHECK_FALSE(tune::race(device, subject, candidates(2, 0), {}).winner.has_value());
  CHECK_FALSE(tune::race(device, subject, {}, {}).winner.has_value());
}

TEST_CASE("without time only the default is measured and the others say so") {
  test::FakeDevice device;
  FakeSubject subject(device);
  const auto outcome = tune::race(device, subject, candidates(50, 20), {.budget_seconds = -1});
  CHECK(outcome.winner == 20U);
  CHECK(outcome.results[0].status == "not_reached");
}

TEST_CASE("without time what is in use is measured too, and stays the choice where it is faster than the default") {
  test::FakeDevice device;
  device.cost_us = [](int id) { return id == 30 ? 5.0 : 10.0 + id; };
  FakeSubject subject(device);
  std::vector<Candidate> list = candidates(50, 20);
  list[30].in_use = true;
  const auto outcome = tune::race(device, subject, list, {.budget_seconds = -1});
  CHECK(outcome.winner == 30U);
  CHECK(outcome.results[20].status == "measured");
  CHECK(outcome.results[0].status == "not_reached");
}

TEST_CASE("what is measured first waits for the GPU's clock, and what was disturbed is measured again") {
  test::FakeDevice device;
  // The first ten replays are slow, ever less; later one replay of each eight is.
  device.cost_us = [&](int id) {
    return device.replays < 10 ? 100.0 - 9 * device.replays : device.replays % 8 == 0 ? 50.0 : 10.0 + id;
  };
  FakeSubject subject(device);
  const auto outcome = tune::race(device, subject, candidates(20, 0), {.budget_seconds = -1});
  CHECK(outcome.results[0].median_us.value_or(-1) == doctest::Approx(10));
  CHECK(outcome.results[0].spread_us.value_or(-1) == doctest::Approx(0));
  CHECK(outcome.results[0].rounds == 3);
}

TEST_CASE("screening leaves a share of the budget for rounds among what it found") {
  test::FakeDevice device;
  device.on_replay = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
  FakeSubject subject(device);
  bool raced = false;
  // Three replays of each take longer than the budget; a round among the fastest takes a hundredth of it.
  const auto outcome = tune::race(
      device, subject, candidates(2000, 0),
      {.budget_seconds = 2, .progress = [&](const std::string& line) { raced = raced || line.starts_with("race"); }});
  CHECK(raced);
  CHECK(outcome.results.back().status == "not_reached");
}

TEST_CASE("a round in which the clock moved is repeated and its samples are dropped") {
  test::FakeDevice device;
  device.clocks_now = device::Clocks{.sm_mhz = 1000};
  bool slow = false;
  device.cost_us = [&](int id) { return (slow ? 100.0 : 1.0) * (1 + 0.1 * id); };
  int moves = 0;
  device.on_replay = [&] {
    // Every third replay of the rounds runs at another clock than the one before it: too many for a spread to leave
    // out.
    slow = device.replays >= 17 && device.replays % 3 == 2;
    if (slow) device.clocks_now->sm_mhz += 300, ++moves;
  };
  FakeSubject subject(device);
  const auto outcome = tune::race(device, subject, candidates(2, 0), {});
  REQUIRE(moves > 5);
  CHECK(outcome.results[0].spread_us.value_or(-1) == doctest::Approx(0));
  CHECK(outcome.results[1].spread_us.value_or(-1) == doctest::Approx(0));
}

TEST_CASE("the order within a round is drawn anew for each, and the same for the same seed") {
  const auto order_of = [](std::uint64_t seed) {
    test::FakeDevice device;
    std::vector<int> order;
    device.cost_us = [&](int id) {
      if (order.empty() || order.back() != id) order.push_back(id);
      return 1.0 + 0.001 * id;
    };
    FakeSubject subject(device);
    // One thread that compiles: candidates are screened in the order in which they come.
    static_cast<void>(tune::race(device, subject, candidates(4, 0), {.seed = seed, .compile_threads = 1}));
    return order;
  };
  const std::vector<int> order = order_of(1);
  CHECK(order == order_of(1));
  CHECK(order != order_of(2));
  // Four in a fixed order would always be followed by the same one.
  std::set<int> after_first;
  for (std::size_t i = 0; i + 1 < order.size(); ++i)
    if (order[i] == 0) after_first.insert(order[i + 1]);
  CHECK(after_first.size() > 1);
}

TEST_CASE("the summary is the median and half the distance between the outer tenths") {
  const auto summary = tune::summarise({5, 1, 3, 2, 4, 6, 7, 8, 9, 10, 11});
  CHECK(summary.median_us == doctest::Approx(6));
  CHECK(summary.spread_us == doctest::Approx(4));
  CHECK(tune::summarise({2}).spread_us == doctest::Approx(0));
}

TEST_CASE("a sequence lasts about a millisecond within 2 to 50 launches") {
  CHECK(tune::launches_for(0.001) == 50);
  CHECK(tune::launches_for(100) == 10);
  CHECK(tune::launches_for(1e6) == 2);
}

TEST_CASE("copies are taken equally often in a sequence, or none twice behind a flush") {
  test::FakeDevice device;
  device.cost_us = [](int) { return 30.0; };
  const auto launches = [&](const tune::Rotation& rotation) {
    return tune::record_timed(device, [&](Stream) { device.note(0); }, rotation).launches;
  };
  CHECK(launches({}) == 33);
  CHECK(launches({.copies = 4}) == 36);
  CHECK(launches({.copies = 40}) == 40);
  const std::shared_ptr<device::TimedSequence> flush = device.record([](Stream) {});
  CHECK(launches({.copies = 4, .flush = flush}) == 4);
  CHECK(launches({.copies = 40, .flush = flush}) == 33);
}
