// Measures one launch by replaying a recorded sequence, as the tuner does.
#pragma once

#include <functional>

#include "device/device.hpp"
#include "tune/samples.hpp"

namespace vostok::cli {

struct Timing {
  tune::Summary single;  ///< of one launch
  int launches = 0;      ///< in the sequence
  int replays = 0;       ///< replays of the sequence, one sample each
};

/// Number of executes in a slow measurement: a pilot replayed twice, a warm-up and the minimum number of
/// replays, with two executes each.
inline constexpr int executes_of_slow_measurement = 2 * (2 + 1 + 7);

/// `enqueue` queues one launch on the stream it is given.
Timing measure(device::Device& device, const std::function<void(Stream)>& enqueue);

}  // namespace vostok::cli
