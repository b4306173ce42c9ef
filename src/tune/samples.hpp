// Timed sequences of launches, and robust statistics of a handful of timings.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "device/device.hpp"

namespace vostok::tune {

struct Summary {
  double median_us = 0;
  double spread_us = 0;  ///< half the distance between the 10th and the 90th percentile
};

/// `samples` must not be empty.
Summary summarise(std::vector<double> samples);

/// Launches for one timed sequence of about a millisecond: 2 to 50.
int launches_for(double single_us);

/// Whether the clock changed by more than 2 % between two readings, so that measurements between them do not count.
bool clocks_moved(const std::optional<device::Clocks>& before, const std::optional<device::Clocks>& after);

/// The state of the cache that launches find. By default warm: as the preceding launch left it.
struct Rotation {
  /// Copies of the operands, used in turn. Without a flush all are used equally often, so that no copy follows itself
  /// across two replays; with a flush, a replay uses none twice.
  int copies = 1;
  std::shared_ptr<device::TimedSequence> flush = {};  ///< replayed, untimed, before each replay; null: no flush
};

/// Launches of one kernel, recorded so that a replay lasts about a millisecond.
struct TimedLaunches {
  std::unique_ptr<device::TimedSequence> sequence = {};
  int launches = 1;
  std::shared_ptr<device::TimedSequence> flush = {};

  /// Replays once; microseconds of one launch.
  double sample_us() const {
    if (flush) flush->replay_us();
    return sequence->replay_us() / launches;
  }
};

/// Sizes the sequence by a pilot, records it, and replays it once to warm up.
TimedLaunches record_timed(device::Device& device, const std::function<void(Stream)>& enqueue,
                           const Rotation& rotation = {});

}  // namespace vostok::tune
