#include "bench/harness/host_time.hpp"

#include <chrono>

namespace vostok::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int warm_up_batches = 3;

HostTime summarise_ns(const std::vector<double>& samples_ns) {
  const tune::Summary summary = tune::summarise(samples_ns);  // of any unit
  return {.median_ns = summary.median_us, .spread_ns = summary.spread_us};
}

}  // namespace

HostTimes time_host_calls(const std::vector<HostCall>& calls, int calls_per_batch, int batches,
                          const std::function<void()>& drain) {
  std::vector<std::vector<double>> samples_ns(calls.size()), above_ns(calls.size());
  for (int batch = -warm_up_batches; batch < batches; ++batch) {
    std::vector<double> round_ns(calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const std::size_t turn = (static_cast<std::size_t>(batch + warm_up_batches) + i) % calls.size();
      drain();
      const Clock::time_point start = Clock::now();
      calls[turn].batch(calls_per_batch);
      round_ns[turn] = std::chrono::duration<double, std::nano>(Clock::now() - start).count() / calls_per_batch;
    }
    for (std::size_t i = 0; batch >= 0 && i < calls.size(); ++i) {
      samples_ns[i].push_back(round_ns[i]);
      above_ns[i].push_back(round_ns[i] - round_ns[0]);
    }
  }
  drain();
  HostTimes times;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    times.calls.push_back(summarise_ns(samples_ns[i]));
    times.above_first.push_back(summarise_ns(above_ns[i]));
  }
  return times;
}

}  // namespace vostok::bench
