// How far a run on the emulator has come, for those who wait for it.
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

/// Something that the user waits for.
struct Phase {
  std::string what = {};                      ///< "measuring on the emulator"
  double seconds = 0;                         ///< so far
  device::LaunchProgress progress = {};       ///< since it began
  std::optional<std::int64_t> launches = {};  ///< that it makes in all; absent: not known
};

/// "measuring on the emulator for 40 s: 45 % done, about 49 s left"
std::string phase_text(const Phase& phase);

/// Looks at a device from a thread of its own, and tells of every phase that takes long.
class LaunchWatch {
 public:
  using Look = std::function<std::optional<device::LaunchProgress>()>;
  using Tell = std::function<void(const std::string&)>;

  /// Nothing is told in the first `patience` of a phase, then something every `interval`. Where `look` sees nothing (a GPU),
  /// nothing is told. What the functions refer to must outlive it.
  LaunchWatch(Look look, Tell tell, std::chrono::milliseconds patience, std::chrono::milliseconds interval);

  /// A phase of so many executes; 0: it launches nothing, or nobody knows how much.
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
  std::optional<std::int64_t> launches_of_one_;  ///< of an execute, known behind the first phase that has one
  std::jthread thread_;                          ///< the last member: it ends first
};

}  // namespace vostok::cli
