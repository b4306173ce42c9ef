#include "cli/measure.hpp"

#include <chrono>
#include <memory>
#include <vector>

namespace vostok::cli {

namespace {

constexpr int least_replays = 7;
constexpr int most_replays = 31;
constexpr double enough_seconds = 1;  ///< past the least replays, no more are begun

std::unique_ptr<device::TimedSequence> record(device::Device& device, const std::function<void(Stream)>& enqueue, int launches) {
  return device.record([&](Stream stream) {
    for (int i = 0; i < launches; ++i) enqueue(stream);
  });
}

}  // namespace

Timing measure(device::Device& device, const std::function<void(Stream)>& enqueue) {
  constexpr int pilot_launches = 2;
  const auto pilot = record(device, enqueue, pilot_launches);
  pilot->replay_us();  // the first warms caches and clocks
  const int launches = tune::launches_for(pilot->replay_us() / pilot_launches);
  const auto sequence = record(device, enqueue, launches);
  sequence->replay_us();

  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  std::vector<double> samples_us;
  for (int replay = 0; replay < most_replays && (replay < least_replays || seconds() < enough_seconds); ++replay)
    samples_us.push_back(sequence->replay_us() / launches);
  return {.single = tune::summarise(samples_us), .launches = launches, .replays = static_cast<int>(samples_us.size())};
}

}  // namespace vostok::cli
