// Host time of calls, in batches; the queue is drained in between, so that it never fills and pushes back.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tune/samples.hpp"

namespace vostok::bench {

struct HostCall {
  std::string name = {};
  std::function<void(int calls)> batch =
      {};  ///< makes this many calls: the loop is inside, so that only the calls are timed
};

/// Nanoseconds of one call; median and spread over the batches.
struct HostTime {
  double median_ns = 0;
  double spread_ns = 0;
};

struct HostTimes {
  std::vector<HostTime> calls = {};  ///< in the given order
  std::vector<HostTime> above_first =
      {};  ///< each call's time above the first one's, batch by batch, so that drift cancels
};

/// Interleaves the batches of all calls, starting each round with another call; `drain` waits for queued work, untimed.
/// Batches before the first round are warm-up.
HostTimes time_host_calls(const std::vector<HostCall>& calls, int calls_per_batch, int batches,
                          const std::function<void()>& drain);

}  // namespace vostok::bench
