// What a race knows beforehand: earlier results of the same code, and what may not run here.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "tune/tuner.hpp"
#include "unit/fakes/fake_device.hpp"
#include "unit/fakes/numbered_config.hpp"

using namespace vostok;
using tune::Candidate;
using tune::Compiled;
using tune::Result;

namespace {

int id_of(const Candidate& candidate) { return test::number_of(candidate.config); }

class Numbered : public tune::Subject {
 public:
  explicit Numbered(test::FakeDevice& device) : device_(device) {}
  tune::Compiled compile(const Candidate& candidate) override {
    const int id = id_of(candidate);
    return {.code_digest = std::to_string(id), .enqueue = [this, id](Stream) {
              on_enqueue(id);
              device_.note(id);
            }};
  }
  std::optional<std::string> verify(const Compiled& compiled) override {
    verified.insert(std::stoi(compiled.code_digest));
    return std::nullopt;
  }
  tune::Rotation rotation() override { return rotated; }
  std::function<void(int id)> on_enqueue = [](int) {};
  std::set<int> verified;
  tune::Rotation rotated;

 private:
  test::FakeDevice& device_;
};

/// A race of `count` candidates, of which number 0 is the default; number i takes 10 + i microseconds.
struct Racing {
  test::FakeDevice device;
  Numbered subject{device};
  std::vector<Candidate> list;
  std::map<int, int> launched;  ///< how often each ran
  std::map<int, Result> published;
  tune::Settings settings;

  explicit Racing(int count) {
    for (int id = 0; id < count; ++id)
      list.push_back({.family = "fake", .config = test::numbered(id), .is_default = id == 0});
    device.cost_us = [this](int id) {
      ++launched[id];
      return 10.0 + id;
    };
    settings.compile_threads = 1;
    settings.publish = [this](const Candidate& candidate, const Result& result) {
      published[id_of(candidate)] = result;
    };
  }
  tune::Outcome run() { return tune::race(device, subject, list, settings); }
};

constexpr int confirmed_rounds = 3 + 5 + 15;

tune::Earlier earlier(double median_us, int rounds = confirmed_rounds) {
  return {.median_us = median_us, .spread_us = 0.01, .rounds = rounds, .verified = true};
}

}  // namespace

TEST_CASE("where every candidate's code was measured before nothing is launched, and the choice is the stored one") {
  Racing racing(30);
  racing.settings.earlier = [](const Candidate& candidate, const Compiled&) {
    return earlier(id_of(candidate) == 7 ? 1.0 : 5.0);
  };
  const auto outcome = racing.run();
  CHECK(racing.launched.empty());
  CHECK(racing.published.empty());
  CHECK(outcome.winner.value_or(0) == 7);
}

TEST_CASE("a new config is measured alone, and then against the fastest that are known") {
  Racing racing(30);
  constexpr int added = 29;
  racing.device.cost_us = [&](int id) {
    ++racing.launched[id];
    return id == added ? 8.0 : 10.0 + 0.1 * id;
  };
  racing.settings.earlier = [](const Candidate& candidate, const Compiled&) -> std::optional<tune::Earlier> {
    if (id_of(candidate) == added) return std::nullopt;
    return earlier(10.0 + 0.1 * id_of(candidate));
  };
  const auto outcome = racing.run();
  CHECK(outcome.winner.value_or(0) == added);
  std::set<int> ran;
  for (const auto& [id, times] : racing.launched) ran.insert(id);
  CHECK(ran == std::set<int>{0, 1, 2, added});
  CHECK(outcome.results[added].rounds == confirmed_rounds);
  CHECK(outcome.results[20].median_us.value_or(0) == doctest::Approx(12.0));
  CHECK(outcome.results[20].status == "measured");
  CHECK(racing.published.count(20) == 0);
}

TEST_CASE("a new config that is hopelessly slower than what is known sends nothing back to the device") {
  Racing racing(6);
  racing.settings.earlier = [](const Candidate& candidate, const Compiled&) -> std::optional<tune::Earlier> {
    if (id_of(candidate) == 5) return std::nullopt;
    return earlier(1.0 + 0.1 * id_of(candidate));
  };
  const auto outcome = racing.run();
  CHECK(racing.launched.size() == 1);
  CHECK(racing.published.count(5) == 1);
  CHECK(outcome.winner.value_or(9) == 0);
}

TEST_CASE("what an interrupted race left unconfirmed is confirmed by the next") {
  Racing racing(6);
  racing.settings.earlier = [](const Candidate& candidate, const Compiled&) {
    const int id = id_of(candidate);
    return earlier(10.0 + id, id < 2 ? confirmed_rounds : 8);
  };
  const auto outcome = racing.run();
  CHECK(racing.launched.count(2) == 1);
  CHECK(outcome.results[2].rounds == confirmed_rounds);
  CHECK(outcome.winner.value_or(9) == 0);
}

TEST_CASE("a confirmation that was cut short takes nothing from what was confirmed before") {
  Racing racing(4);
  int samples = 0;
  racing.settings.earlier = [](const Candidate& candidate, const Compiled&) -> std::optional<tune::Earlier> {
    if (id_of(candidate) == 3) return std::nullopt;
    return earlier(20.0 + id_of(candidate));
  };
  racing.device.on_replay = [&] { ++samples; };
  racing.settings.stop = [&] { return samples > 6; };
  const auto outcome = racing.run();
  CHECK(outcome.results[0].rounds == confirmed_rounds);
  CHECK(outcome.results[0].median_us.value_or(0) == doctest::Approx(20.0));
  CHECK(outcome.results[3].rounds < confirmed_rounds);
  CHECK(outcome.winner.value_or(9) == 0);
}

TEST_CASE("code that may not run here is never launched, and keeps the reason that was found elsewhere") {
  Racing racing(6);
  racing.settings.admit = [](const Candidate& candidate, const Compiled&, double, double) -> tune::Admission {
    switch (id_of(candidate)) {
      case 1: return {.status = "hung", .reason = "no answer"};
      case 2: return {.status = "untested", .reason = "no worker"};
      case 3: return {.status = "not_reached"};
      default: return {.verified = true};
    }
  };
  const auto outcome = racing.run();
  CHECK(outcome.results[1].status == "hung");
  CHECK(racing.published.at(1).reason == "no answer");
  CHECK(racing.published.at(2).status == "untested");
  CHECK(outcome.results[3].status == "not_reached");
  CHECK(racing.published.count(3) == 0);
  for (const int refused : {1, 2, 3}) CHECK(racing.launched.count(refused) == 0);
  CHECK(racing.launched.count(4) == 1);
  CHECK(racing.subject.verified.empty());
}

TEST_CASE("a candidate that was measured elsewhere to be far behind is not measured here") {
  Racing racing(4);
  racing.settings.admit = [](const Candidate& candidate, const Compiled&, double, double) -> tune::Admission {
    const double median_us = id_of(candidate) == 2 ? 100 : 11;
    return {.verified = true, .measured = tune::Summary{.median_us = median_us, .spread_us = 1}, .rounds = 3};
  };
  const auto outcome = racing.run();
  CHECK(racing.launched.count(2) == 0);
  CHECK(outcome.results[2].status == "measured");
  CHECK(outcome.results[2].median_us.value_or(0) == doctest::Approx(100));
  CHECK(outcome.results[2].rounds == 3);
  CHECK(racing.launched.count(3) == 1);
}

TEST_CASE("a race that is stopped keeps what was measured and chooses among it") {
  Racing racing(50);
  int samples = 0;
  racing.device.on_replay = [&] { ++samples; };
  racing.settings.stop = [&] { return samples > 40; };
  const auto outcome = racing.run();
  CHECK(samples < 60);
  CHECK(outcome.results[0].status == "measured");
  CHECK(outcome.results[49].status == "not_reached");
  CHECK(outcome.winner.value_or(9) == 0);
}

TEST_CASE("cold launches: a flush before each replay, and no copy twice in one") {
  class Flush : public device::TimedSequence {
   public:
    explicit Flush(int& count) : count_(count) {}
    double replay_us() override {
      ++count_;
      return 1e6;
    }

   private:
    int& count_;
  };
  Racing racing(2);
  int flushes = 0;
  racing.subject.rotated = {.copies = 7, .flush = std::make_shared<Flush>(flushes)};
  const auto outcome = racing.run();
  CHECK(flushes > 2 * confirmed_rounds);
  CHECK(outcome.results[0].median_us.value_or(0) == doctest::Approx(10.0));
  // Of some hundred launches that would fill a millisecond, a replay holds one for each copy. What is measured first is
  // screened twice.
  CHECK(racing.launched[0] <= 7 * (confirmed_rounds + 3 + 2));
}

TEST_CASE(
    "what is past the limit that a candidate need not be verified for is twice the best so far, and none for the "
    "default") {
  Racing racing(3);
  std::map<int, double> limits;
  racing.settings.admit = [&](const Candidate& candidate, const Compiled&, double, double slow_us) -> tune::Admission {
    limits[id_of(candidate)] = slow_us;
    return {.verified = true};
  };
  racing.run();
  CHECK(std::isinf(limits.at(0)));
  CHECK(limits.at(1) == doctest::Approx(20.0));
}

TEST_CASE("a finalist that was measured elsewhere and never verified is admitted before it runs here") {
  Racing racing(3);
  racing.settings.earlier = [](const Candidate& candidate, const Compiled&) -> std::optional<tune::Earlier> {
    if (id_of(candidate) == 0) return std::nullopt;
    return tune::Earlier{.median_us = 10.5, .spread_us = 0.1, .rounds = 3, .verified = false};
  };
  std::map<int, double> limits;
  racing.settings.admit = [&](const Candidate& candidate, const Compiled&, double, double slow_us) -> tune::Admission {
    limits[id_of(candidate)] = slow_us;
    if (id_of(candidate) == 1) return {.status = "hung", .reason = "no answer"};
    return {.verified = true};
  };
  const auto outcome = racing.run();
  for (const int known : {1, 2}) CHECK(limits[known] == doctest::Approx(20.0));
  CHECK(outcome.results[1].status == "hung");
  CHECK(racing.launched.count(1) == 0);
  CHECK(racing.launched.count(2) == 1);
}

TEST_CASE("code that memory was missing for is untested; code that failed otherwise is banned") {
  Racing racing(4);
  racing.subject.on_enqueue = [](int id) {
    if (id == 1) throw Error(ErrorCode::out_of_memory, "planted");
    if (id == 2) throw Error(ErrorCode::device_failure, "planted");
  };
  racing.run();
  CHECK(racing.published.at(1).status == "untested");
  CHECK(racing.published.at(1).reason == "planted");
  CHECK(racing.published.at(2).status == "faulted");
  CHECK(racing.published.at(3).status == "measured");
}
