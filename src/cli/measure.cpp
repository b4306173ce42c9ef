#include "cli/measure.hpp"

#include <chrono>
#include <vector>

namespace vostok::cli {

namespace {

constexpr int least_replays = 7;
constexpr int most_replays = 31;
constexpr double enough_seconds = 1;  ///< once the minimum number of replays is done, none starts after this
static_assert(executes_of_slow_measurement == 2 * (3 + least_replays));

}  // namespace

Timing measure(device::Device& device, const std::function<void(Stream)>& enqueue) {
  const tune::TimedLaunches timed = tune::record_timed(device, enqueue);

  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  std::vector<double> samples_us;
  for (int replay = 0; replay < most_replays && (replay < least_replays || seconds() < enough_seconds); ++replay)
    samples_us.push_back(timed.sample_us());
  return {.single = tune::summarise(samples_us),
          .launches = timed.launches,
          .replays = static_cast<int>(samples_us.size())};
}

}  // namespace vostok::cli
