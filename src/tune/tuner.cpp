#include "tune/tuner.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>

#include "base/text.hpp"
#include "tune/compile_ahead.hpp"
#include "tune/samples.hpp"

namespace vostok::tune {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int screen_replays = 3;
constexpr int race_rounds = 5;
constexpr std::size_t most_racers = 24;
/// A candidate this much slower than the best when screened does not race: far outside what noise explains.
constexpr double hopeless = 1.3;

/// A candidate that is being measured.
struct Runner {
  Result result;
  TimedLaunches timed;
  std::vector<double> samples_us;

  void measure() { samples_us.push_back(timed.sample_us()); }
  double median() const { return summarise(samples_us).median_us; }
};

class Race {
 public:
  Race(device::Device& device, Subject& subject, const std::vector<Candidate>& candidates, const Settings& settings)
      : device_(device), subject_(subject), candidates_(candidates), settings_(settings), start_(Clock::now()), random_(settings.seed) {
    outcome_.results.resize(candidates.size());
    for (std::size_t i = 0; i < candidates.size(); ++i)
      outcome_.results[i] = {
          .candidate = i, .status = "not_reached", .reason = "the time budget ended first", .compiled = {}, .median_us = {}, .spread_us = {}};
  }

  Outcome run() {
    screen();
    keep_fastest(most_racers, hopeless);
    rounds(race_rounds, "race");
    keep_fastest(static_cast<std::size_t>(std::max(settings_.finalists, 1)), hopeless);
    verify_finalists();
    rounds(settings_.confirm_rounds, "confirm");
    for (Runner& runner : runners_) finish(runner);
    outcome_.winner = choose(outcome_.results);
    return std::move(outcome_);
  }

 private:
  double elapsed_seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool out_of_time() const { return elapsed_seconds() > settings_.budget_seconds; }
  bool is_default(const Runner& runner) const { return candidates_[runner.result.candidate].is_default; }

  void report(const char* phase, std::size_t done, std::size_t of) const {
    if (!settings_.progress) return;
    double best = INFINITY;
    for (const Runner& runner : runners_)
      if (!runner.samples_us.empty()) best = std::min(best, runner.median());
    const double left = std::max(0.0, settings_.budget_seconds - elapsed_seconds());
    const std::string found = std::isfinite(best) ? fmt::format("best so far {:.2f} us, ", best) : "";
    settings_.progress(fmt::format("{} {}/{}, {}at most {:.0f} s left", phase, done, of, found, left));
  }

  void publish(Result result) {
    Result& slot = outcome_.results[result.candidate];
    slot = std::move(result);
    if (settings_.publish) settings_.publish(candidates_[slot.candidate], slot);
  }

  /// A runner's result becomes final with the samples it has.
  void finish(Runner& runner) {
    if (runner.samples_us.empty()) return;
    const Summary summary = summarise(runner.samples_us);
    runner.result.status = "measured";
    runner.result.median_us = summary.median_us;
    runner.result.spread_us = summary.spread_us;
    runner.result.rounds = static_cast<int>(runner.samples_us.size());
    publish(std::move(runner.result));
  }

  void reject(Runner& runner, const char* status, std::string reason) {
    runner.result.status = status;
    runner.result.reason = std::move(reason);
    publish(std::move(runner.result));
  }

  /// Records the sequence and measures it a few times.
  void enter(Runner runner) {
    try {
      runner.timed = record_timed(device_, runner.result.compiled.enqueue);
      for (int i = 0; i < screen_replays; ++i) runner.measure();
      runners_.push_back(std::move(runner));
    } catch (const std::exception& error) {
      reject(runner, "faulted", error.what());
    }
  }

  void screen() {
    std::vector<std::size_t> order(candidates_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_partition(order.begin(), order.end(), [&](std::size_t i) { return candidates_[i].is_default; });
    CompileAhead compiles(subject_, candidates_, order, settings_.compile_threads);
    std::size_t done = 0;
    auto defaults_left = std::count_if(candidates_.begin(), candidates_.end(), [](const Candidate& candidate) { return candidate.is_default; });
    while (auto result = compiles.next()) {
      const bool must_run = candidates_[result->candidate].is_default;
      if (!must_run && out_of_time()) {
        if (defaults_left == 0) break;
        continue;
      }
      if (must_run) --defaults_left;
      if (result->status.empty()) enter({.result = std::move(*result), .timed = {}, .samples_us = {}});
      else publish(std::move(*result));
      report("screen", ++done, candidates_.size());
      if (runners_.size() > 2 * most_racers) keep_fastest(most_racers, hopeless);
    }
  }

  /// Finishes every runner but the `count` fastest within `factor` of the best, and the default.
  void keep_fastest(std::size_t count, double factor) {
    std::stable_sort(runners_.begin(), runners_.end(), [](const Runner& a, const Runner& b) { return a.median() < b.median(); });
    if (runners_.empty()) return;
    const double limit = runners_.front().median() * factor;
    std::vector<Runner> kept;
    for (Runner& runner : runners_) {
      if ((kept.size() < count && runner.median() <= limit) || is_default(runner)) kept.push_back(std::move(runner));
      else finish(runner);
    }
    runners_ = std::move(kept);
  }

  /// One sample of every runner, in a random order; repeated while the clock moves.
  void one_round() {
    constexpr int most_repeats = 3;
    for (int attempt = 0; attempt <= most_repeats; ++attempt) {
      std::shuffle(runners_.begin(), runners_.end(), random_);
      const auto before = device_.clocks();
      for (Runner& runner : runners_) runner.measure();
      const auto after = device_.clocks();
      if (!clocks_moved(before, after) || attempt == most_repeats) return;
      for (Runner& runner : runners_) runner.samples_us.pop_back();
    }
  }

  void rounds(int count, const char* phase) {
    if (runners_.size() < 2) return;
    for (int round = 0; round < count && !out_of_time(); ++round) {
      one_round();
      report(phase, static_cast<std::size_t>(round) + 1, static_cast<std::size_t>(count));
    }
  }

  void verify_finalists() {
    std::vector<Runner> right;
    for (Runner& runner : runners_) {
      if (auto wrong = subject_.verify(runner.result.compiled)) reject(runner, "wrong", *wrong);
      else right.push_back(std::move(runner));
    }
    runners_ = std::move(right);
  }

  device::Device& device_;
  Subject& subject_;
  const std::vector<Candidate>& candidates_;
  const Settings& settings_;
  Clock::time_point start_;
  std::mt19937_64 random_;
  std::vector<Runner> runners_;
  Outcome outcome_;
};

}  // namespace

Outcome race(device::Device& device, Subject& subject, const std::vector<Candidate>& candidates, const Settings& settings) {
  return Race(device, subject, candidates, settings).run();
}

std::optional<std::size_t> choose(const std::vector<Result>& results, double tie) {
  // Only the most thoroughly measured compete: a lucky screening sample is no evidence against a finalist.
  int most_rounds = 0;
  for (const Result& result : results)
    if (result.status == "measured") most_rounds = std::max(most_rounds, result.rounds);
  const auto time_us = [&](const Result& result) {
    return result.status == "measured" && result.rounds == most_rounds ? result.median_us.value_or(INFINITY) : INFINITY;
  };
  const auto best = std::min_element(results.begin(), results.end(), [&](const Result& a, const Result& b) { return time_us(a) < time_us(b); });
  if (best == results.end() || std::isinf(time_us(*best))) return std::nullopt;
  const double limit_us = time_us(*best) + std::max(tie * time_us(*best), best->spread_us.value_or(0));
  const auto first = std::find_if(results.begin(), results.end(), [&](const Result& result) { return time_us(result) <= limit_us; });
  return first->candidate;
}

}  // namespace vostok::tune
