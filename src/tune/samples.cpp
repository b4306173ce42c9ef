#include "tune/samples.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/checked.hpp"

namespace vostok::tune {

namespace {
double percentile(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}
}  // namespace

Summary summarise(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return {.median_us = percentile(samples, 0.5),
          .spread_us = (percentile(samples, 0.9) - percentile(samples, 0.1)) / 2};
}

int launches_for(double single_us) {
  constexpr double target_us = 1000;
  return static_cast<int>(std::clamp(std::floor(target_us / std::max(single_us, 0.1)), 2.0, 50.0));
}

bool clocks_moved(const std::optional<device::Clocks>& before, const std::optional<device::Clocks>& after) {
  return before && after && std::abs(before->sm_mhz - after->sm_mhz) > before->sm_mhz / 50;
}

TimedLaunches record_timed(device::Device& device, const std::function<void(Stream)>& enqueue,
                           const Rotation& rotation) {
  const auto turns = [&](int launches) {
    return rotation.flush ? std::min(launches, rotation.copies) : static_cast<int>(round_up(launches, rotation.copies));
  };
  const auto record = [&](int launches) {
    auto sequence = device.record([&enqueue, launches](Stream stream) {
      for (int i = 0; i < launches; ++i) enqueue(stream);
    });
    sequence->replay_us();
    return TimedLaunches{.sequence = std::move(sequence), .launches = launches, .flush = rotation.flush};
  };
  return record(turns(launches_for(record(turns(2)).sample_us())));
}

}  // namespace vostok::tune
