// How long one launch takes: replays of a recorded sequence, as the tuner does it.
#pragma once

#include <functional>

#include "device/device.hpp"
#include "tune/samples.hpp"

namespace vostok::cli {

struct Timing {
  tune::Summary single;  ///< of one launch
  int launches = 0;      ///< in the sequence
  int replays = 0;       ///< of the sequence, each one sample
};

/// How often `measure` executes what takes long: a pilot that is replayed twice, a warm-up and the least replays. Each has
/// two executes.
inline constexpr int executes_of_slow_measurement = 2 * (2 + 1 + 7);

/// `enqueue` queues one launch on the stream it is given.
Timing measure(device::Device& device, const std::function<void(Stream)>& enqueue);

}  // namespace vostok::cli
