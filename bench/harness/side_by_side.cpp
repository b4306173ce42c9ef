#include "bench/harness/side_by_side.hpp"

#include <chrono>
#include <cstdlib>
#include <memory>

#include "tune/samples.hpp"

namespace vostok::bench {

namespace {

using Clock = std::chrono::steady_clock;

/// Replays before the first sample: an idle GPU takes some milliseconds to raise its clock.
constexpr double least_warm_up_seconds = 0.02;
constexpr double most_warm_up_seconds = 0.5;
constexpr int most_repeats = 3;

struct Runner {
  std::size_t contender = 0;
  tune::TimedLaunches timed;
  std::vector<double> samples_us;
};

void warm_up(device::Device& device, const std::vector<Runner>& runners) {
  const Clock::time_point start = Clock::now();
  for (;;) {
    const auto before = device.clocks();
    for (const Runner& runner : runners) runner.timed.sample_us();
    const auto after = device.clocks();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (seconds >= most_warm_up_seconds || (seconds >= least_warm_up_seconds && !tune::clocks_moved(before, after)))
      return;
  }
}

void one_round(device::Device& device, std::vector<Runner>& runners, std::size_t first) {
  for (int attempt = 0; attempt <= most_repeats; ++attempt) {
    const auto before = device.clocks();
    std::vector<double> samples_us(runners.size());
    for (std::size_t i = 0; i < runners.size(); ++i) {
      const std::size_t turn = (first + i) % runners.size();
      samples_us[turn] = runners[turn].timed.sample_us();
    }
    if (attempt < most_repeats && tune::clocks_moved(before, device.clocks())) continue;
    for (std::size_t i = 0; i < runners.size(); ++i) runners[i].samples_us.push_back(samples_us[i]);
    return;
  }
}

}  // namespace

std::vector<Timed> time_side_by_side(device::Device& device, const std::vector<Contender>& contenders, int rounds) {
  std::vector<Timed> results(contenders.size());
  std::vector<Runner> runners;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    try {
      const tune::Rotation rotation{.copies = contenders[i].period};
      runners.push_back(
          {.contender = i, .timed = tune::record_timed(device, contenders[i].enqueue, rotation), .samples_us = {}});
    } catch (const std::exception& error) {
      results[i].failure = error.what();
    }
  }
  if (runners.empty()) return results;
  warm_up(device, runners);
  for (int round = 0; round < rounds; ++round) one_round(device, runners, static_cast<std::size_t>(round));
  for (const Runner& runner : runners) {
    const tune::Summary summary = tune::summarise(runner.samples_us);
    results[runner.contender].timing = {.median_us = summary.median_us,
                                        .spread_us = summary.spread_us,
                                        .launches = runner.timed.launches,
                                        .rounds = rounds};
  }
  return results;
}

}  // namespace vostok::bench
