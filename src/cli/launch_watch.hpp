// The progress of a run on the emulator, for waiting users.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "device/device.hpp"

namespace vostok::cli {

/// An activity that the user waits for.
struct Phase {
  std::string what = {};                      ///< "measuring on the emulator"
  double seconds = 0;                         ///< so far, in this phase
  device::LaunchProgress progress = {};       ///< in this phase
  std::optional<std::int64_t> launches = {};  ///< launches of the whole phase; absent: unknown
};

/// "measuring on the emulator for 40 s: 45 % done, about 49 s left"
std::string phase_text(const Phase& phase);

/// Polls a device from a separate thread, and reports every phase that takes long.
class LaunchWatch {
 public:
  using Look = std::function<std::optional<device::LaunchProgress>()>;
  using Tell = std::function<void(const std::string&)>;

  /// Reports nothing in the first `patience` of a phase, then every `interval`. Reports nothing if `look` returns
  /// nothing (a GPU). Whatever the functions refer to must outlive this.
  LaunchWatch(Look look, Tell tell, std::chrono::milliseconds patience, std::chrono::milliseconds interval);

  /// Starts a phase of this many executes; 0: it launches nothing, or the number is unknown.
  void begin(std::string what, int executes);

 private:
  void watch(const std::stop_token& stop);
  Phase now(const device::LaunchProgress& progress) const;

  Look look_;
  Tell tell_;
  std::chrono::milliseconds patience_;
  std::chrono::milliseconds interval_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::string what_;
  std::chrono::steady_clock::time_point began_;
  std::int64_t ended_before_ = 0;  ///< launches, when the phase began
  int executes_ = 0;
  std::optional<std::int64_t> launches_of_one_;  ///< launches of one execute, known after the first phase that has one
  std::jthread thread_;                          ///< the last member, so that it ends first
};

}  // namespace vostok::cli
