// Times several implementations of one problem in one process, interleaved.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace vostok::bench {

/// Something that queues one product on a stream.
struct Contender {
  std::string name = {};
  std::function<void(Stream)> enqueue = {};
  int period = 1;  ///< calls until it reads the same memory again; a sequence is a multiple of that
};

/// Microseconds per call.
struct Timing {
  double median_us = 0;
  double spread_us = 0;  ///< half the distance between the 10th and the 90th percentile
  int launches = 0;      ///< in one replay
  int rounds = 0;
};

struct Timed {
  std::optional<Timing> timing = {};
  std::string failure = {};  ///< why there is no timing
};

/// Each contender becomes a sequence of up to 50 calls (or its period) that lasts about a millisecond. After a warm-up
/// to a steady clock, every round replays each once, starting with another contender each time; a round in which the
/// clock changed is repeated. A contender that throws while it is recorded or first run gets a failure; the others are
/// timed. One result for each contender.
std::vector<Timed> time_side_by_side(device::Device& device, const std::vector<Contender>& contenders, int rounds);

}  // namespace vostok::bench
