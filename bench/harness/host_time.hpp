// What calls cost the host: batches, drained in between so that no queue fills and pushes back.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tune/samples.hpp"

namespace vostok::bench {

struct HostCall {
  std::string name = {};
  std::function<void(int calls)> batch = {};  ///< makes that many calls: the loop is inside, so that nothing but the calls is timed
};

/// Nanoseconds of one call; median and spread over the batches.
struct HostTime {
  double median_ns = 0;
  double spread_ns = 0;
};

struct HostTimes {
  std::vector<HostTime> calls = {};        ///< as given
  std::vector<HostTime> above_first = {};  ///< each call's time above the first one's, batch by batch: drift cancels
};

/// Interleaves the batches of all calls and begins each round with another; `drain` waits for queued work, unmeasured. Batches
/// before the first round warm up.
HostTimes time_host_calls(const std::vector<HostCall>& calls, int calls_per_batch, int batches, const std::function<void()>& drain);

}  // namespace vostok::bench
