#include "tune/tuner.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <numeric>
#include <random>
#include <utility>

#include "base/text.hpp"
#include "tune/choice.hpp"
#include "tune/compile_ahead.hpp"
#include "tune/failure_status.hpp"
#include "tune/samples.hpp"

namespace vostok::tune {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int screen_replays = 3;
/// A spread above this share of the median means that the replays were disturbed.
constexpr double unsteady = 0.05;
constexpr int most_screenings = 8;
constexpr int race_rounds = 5;
constexpr std::size_t most_racers = 24;
/// A candidate this much slower than the best when screened does not race: far outside what noise explains.
constexpr double hopeless = 1.3;

/// Share of the budget for screening. The rest is for race rounds, since three replays now and then favour the wrong
/// candidate.
constexpr double screening_share = 0.85;

/// A candidate that a worker measured to be this much slower than the best here is not measured again: clocks of
/// two processes differ by less.
constexpr double far_behind = 2;
/// Rounds of every finalist before the confirmation.
constexpr int rounds_before_confirmation = screen_replays + race_rounds;

/// A candidate that is being measured, or was measured in an earlier race.
struct Runner {
  Result result;
  TimedLaunches timed;
  std::vector<double> samples_us;
  std::optional<Earlier> earlier;  ///< set where the code was measured before

  void measure() { samples_us.push_back(timed.sample_us()); }
  double median() const { return earlier && samples_us.empty() ? earlier->median_us : summarise(samples_us).median_us; }
};

class Race {
 public:
  Race(device::Device& device, Subject& subject, const std::vector<Candidate>& candidates, const Settings& settings)
      : device_(device),
        subject_(subject),
        candidates_(candidates),
        settings_(settings),
        start_(Clock::now()),
        random_(settings.seed),
        rotation_(subject.rotation()) {
    outcome_.results.resize(candidates.size());
    for (std::size_t i = 0; i < candidates.size(); ++i)
      outcome_.results[i] = {.candidate = i,
                             .status = "not_reached",
                             .reason = "the time budget ended first",
                             .compiled = {},
                             .median_us = {},
                             .spread_us = {}};
  }

  Outcome run() {
    outcome_.clocks_before = device_.clocks();
    screen();
    keep_fastest(most_racers, hopeless);
    rounds(race_rounds, "race", 2);
    confirm();
    for (Runner& runner : runners_) finish(runner);
    outcome_.winner = choose(verified_results(), [&](std::size_t index) -> StoredCandidate {
      const Candidate& candidate = candidates_[index];
      return {.family = candidate.family, .config = candidate.config.to_map(), .is_default = candidate.is_default};
    });
    outcome_.clocks_after = device_.clocks();
    return std::move(outcome_);
  }

 private:
  double elapsed_seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double seconds_left() const { return settings_.budget_seconds - elapsed_seconds(); }
  bool out_of_time(double share = 1) const {
    return elapsed_seconds() > share * settings_.budget_seconds || (settings_.stop && settings_.stop());
  }
  bool must_run(std::size_t candidate) const { return candidates_[candidate].must_run(); }
  bool is_rival(const Runner& runner) const { return candidates_[runner.result.candidate].is_rival(); }

  /// Results that were raced but never verified, which happens where everything may run here, are no choice.
  std::vector<Result> verified_results() const {
    std::vector<Result> verified;
    std::copy_if(outcome_.results.begin(), outcome_.results.end(), std::back_inserter(verified),
                 [](const Result& result) { return result.verified; });
    return verified;
  }

  double best_median() const {
    double best = INFINITY;
    for (const auto* group : {&runners_, &known_})
      for (const Runner& runner : *group) best = std::min(best, runner.median());
    return best;
  }

  void report(const char* phase, std::size_t done, std::size_t of) const {
    if (!settings_.progress) return;
    const double best = best_median();
    const std::string found = std::isfinite(best) ? fmt::format("best so far {:.2f} us, ", best) : "";
    const bool limited = std::isfinite(settings_.budget_seconds);
    const std::string left =
        limited ? fmt::format("at most {:.0f} s left", std::max(0.0, seconds_left())) : "no limit of time";
    settings_.progress(fmt::format("{} {}/{}, {}{}", phase, done, of, found, left));
  }

  void keep_result(Result result) {
    Result& slot = outcome_.results[result.candidate];
    slot = std::move(result);
  }

  void publish(Result result) {
    const std::size_t candidate = result.candidate;
    keep_result(std::move(result));
    if (settings_.publish) settings_.publish(candidates_[candidate], outcome_.results[candidate]);
  }

  /// Makes a runner's result final, with its samples or with stored ones if there are more of those.
  void finish(Runner& runner) {
    Result& result = runner.result;
    result.status = "measured";
    const int rounds = static_cast<int>(runner.samples_us.size()) + runner.result.rounds;
    if (runner.earlier && (runner.samples_us.empty() || rounds < runner.earlier->rounds)) {
      result.median_us = runner.earlier->median_us;
      result.spread_us = runner.earlier->spread_us;
      result.rounds = runner.earlier->rounds;
      return keep_result(std::move(result));
    }
    const Summary summary = summarise(runner.samples_us);
    result.median_us = summary.median_us;
    result.spread_us = summary.spread_us;
    result.rounds = rounds;
    publish(std::move(result));
  }

  void reject(Result& result, const std::string& status, std::string reason) {
    result.status = status;
    result.reason = std::move(reason);
    publish(std::move(result));
  }

  /// Measures a few times, and again if something disturbed it. The first candidate finds an idle GPU that takes a
  /// while to reach its clock: it is measured until two times in a row agree.
  void screen_steadily(Runner& runner) {
    double before_us = 0;
    for (int left = most_screenings; left > 0; --left) {
      runner.samples_us.clear();
      for (int i = 0; i < screen_replays; ++i) runner.measure();
      const auto [median_us, spread_us] = summarise(runner.samples_us);
      const bool as_before = std::abs(before_us - median_us) <= unsteady * median_us;
      if ((warm_ || as_before) && spread_us <= unsteady * median_us) break;
      before_us = median_us;
    }
    warm_ = true;
  }

  /// Records the sequence and measures it a few times; false if the device refuses.
  bool start(Runner& runner) {
    try {
      const Compiled& compiled = runner.result.compiled;
      runner.timed = record_timed(device_, compiled.timed ? compiled.timed : compiled.enqueue, rotation_);
      screen_steadily(runner);
      return true;
    } catch (const std::exception& error) {
      reject(runner.result, failure_status(error, "faulted"), error.what());
      return false;
    }
  }

  /// Takes a compiled candidate, which is known from an earlier race, refused, slow by a measurement elsewhere, or
  /// measured here.
  void enter(Result result) {
    const Candidate& candidate = candidates_[result.candidate];
    Runner runner{.result = std::move(result), .timed = {}, .samples_us = {}, .earlier = {}};
    if (settings_.earlier) runner.earlier = settings_.earlier(candidate, runner.result.compiled);
    if (runner.earlier) {
      runner.result.verified = runner.earlier->verified;
      known_.push_back(std::move(runner));
      return;
    }
    if (admitted(runner) && start(runner)) runners_.push_back(std::move(runner));
  }

  /// Whether a runner may be launched here; if not, its result is final.
  bool admitted(Runner& runner) {
    if (!settings_.admit) return true;
    const double slow_us = must_run(runner.result.candidate) ? INFINITY : far_behind * best_median();
    Admission admission =
        settings_.admit(candidates_[runner.result.candidate], runner.result.compiled, seconds_left(), slow_us);
    if (admission.status == "not_reached") return false;
    if (!admission.status.empty()) {
      reject(runner.result, admission.status, std::move(admission.reason));
      return false;
    }
    runner.result.verified = admission.verified;
    if (!admission.measured || admission.measured->median_us <= slow_us) return true;
    runner.result.status = "measured";
    runner.result.median_us = admission.measured->median_us;
    runner.result.spread_us = admission.measured->spread_us;
    runner.result.rounds = admission.rounds;
    publish(std::move(runner.result));
    return false;
  }

  void screen() {
    const std::vector<std::size_t> order = race_order(candidates_);
    auto needed_left =
        static_cast<std::size_t>(std::count_if(order.begin(), order.end(), [&](std::size_t i) { return must_run(i); }));
    constexpr double longest_budget = 1e8;  // seconds: a time point holds no more than some hundred years
    const auto budget =
        std::chrono::duration<double>(std::min(screening_share * settings_.budget_seconds, longest_budget));
    CompileAhead compiles(subject_, candidates_, order, settings_.compile_threads, needed_left,
                          start_ + std::chrono::duration_cast<Clock::duration>(budget));
    std::size_t done = 0;
    while (auto result = compiles.next()) {
      const bool is_needed = must_run(result->candidate);
      if (!is_needed && out_of_time(screening_share)) {
        if (needed_left == 0) break;
        continue;
      }
      if (is_needed) --needed_left;
      if (result->status.empty()) enter(std::move(*result));
      else publish(std::move(*result));
      report("screen", ++done, candidates_.size());
      if (runners_.size() > 2 * most_racers) keep_fastest(most_racers, hopeless);
    }
  }

  static void sort(std::vector<Runner>& runners) {
    std::stable_sort(runners.begin(), runners.end(),
                     [](const Runner& a, const Runner& b) { return a.median() < b.median(); });
  }

  /// Finishes all runners except the `count` fastest within `factor` of the best, and the defaults that
  /// those are confirmed against.
  void keep_fastest(std::size_t count, double factor) {
    sort(runners_);
    const double limit = best_median() * factor;
    std::vector<Runner> kept;
    for (Runner& runner : runners_) {
      if ((kept.size() < count && runner.median() <= limit) || is_rival(runner)) kept.push_back(std::move(runner));
      else finish(runner);
    }
    runners_ = std::move(kept);
  }

  /// Takes one sample of every runner, in random order; repeats while the clock changes. False if time ran out,
  /// which discards the round.
  bool one_round() {
    constexpr int most_repeats = 3;
    for (int attempt = 0; attempt <= most_repeats; ++attempt) {
      std::shuffle(runners_.begin(), runners_.end(), random_);
      const auto before = device_.clocks();
      std::size_t measured = 0;
      while (measured < runners_.size() && !out_of_time()) runners_[measured++].measure();
      const bool whole = measured == runners_.size();
      if (whole && (!clocks_moved(before, device_.clocks()) || attempt == most_repeats)) return true;
      for (std::size_t i = 0; i < measured; ++i) runners_[i].samples_us.pop_back();
      if (!whole) return false;
    }
    return true;
  }

  /// The number of rounds completed in time.
  int rounds(int count, const char* phase, std::size_t least_runners) {
    int done = 0;
    while (runners_.size() >= least_runners && done < count && !out_of_time() && one_round())
      report(phase, static_cast<std::size_t>(++done), static_cast<std::size_t>(count));
    return done;
  }

  /// Measures the finalists, new and known, against one another. If none is new, the known results stand.
  void confirm() {
    const bool any_known = !known_.empty();
    runners_.insert(runners_.end(), std::make_move_iterator(known_.begin()), std::make_move_iterator(known_.end()));
    known_.clear();
    keep_fastest(static_cast<std::size_t>(std::max(settings_.finalists, 1)), hopeless);
    if (!any_new()) return;
    // Admission compares with the best median in `runners_`, which must not contain moved-from elements. So the
    // finalists are taken out first.
    std::vector<Runner> finalists = std::exchange(runners_, {});
    for (Runner& finalist : finalists)
      if (is_ready(finalist)) runners_.push_back(std::move(finalist));
    std::vector<std::size_t> before(candidates_.size());
    for (const Runner& runner : runners_) before[runner.result.candidate] = runner.samples_us.size();
    if (rounds(settings_.confirm_rounds, "confirm", any_known ? 1 : 2) == 0) return;
    for (Runner& runner : runners_)
      runner.result.rounds = rounds_before_confirmation - static_cast<int>(before[runner.result.candidate]);
  }

  /// Whether anything needs confirmation: a finalist that is new, or was confirmed in fewer rounds than another.
  bool any_new() const {
    const auto as_known = [&](const Runner& runner) {
      return runner.earlier && runner.samples_us.empty() && runner.earlier->rounds == runners_.front().earlier->rounds;
    };
    return !runners_.empty() && !(runners_.front().earlier && std::all_of(runners_.begin(), runners_.end(), as_known));
  }

  /// Whether a finalist is right and, if there is time, can be measured.
  bool is_ready(Runner& runner) {
    if (runner.samples_us.empty()) {
      // A finalist from an earlier race may never have been verified.
      const bool has_time = !out_of_time();
      if (!has_time && !runner.result.verified) finish(runner);
      if (!has_time) return runner.result.verified;
      if ((!runner.result.verified && !admitted(runner)) || !start(runner)) return false;
    }
    if (runner.result.verified) return true;
    if (auto wrong = subject_.verify(runner.result.compiled)) {
      reject(runner.result, "wrong", *wrong);
      return false;
    }
    runner.result.verified = true;
    return true;
  }

  device::Device& device_;
  Subject& subject_;
  const std::vector<Candidate>& candidates_;
  const Settings& settings_;
  Clock::time_point start_;
  std::mt19937_64 random_;
  Rotation rotation_;
  std::vector<Runner> runners_;
  std::vector<Runner> known_;  ///< from earlier races
  bool warm_ = false;          ///< the GPU has run something for this race
  Outcome outcome_;
};

}  // namespace

std::vector<std::size_t> race_order(const std::vector<Candidate>& candidates) {
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_partition(order.begin(), order.end(), [&](std::size_t i) { return candidates[i].must_run(); });
  return order;
}

Outcome race(device::Device& device, Subject& subject, const std::vector<Candidate>& candidates,
             const Settings& settings) {
  return Race(device, subject, candidates, settings).run();
}

}  // namespace vostok::tune
