// The progress of packing for one device, and the kinds of its choices.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>

#include <vostok/context.hpp>

#include "base/stopwatch.hpp"
#include "base/text.hpp"
#include "cli/pack.hpp"
#include "cli/progress_line.hpp"

namespace vostok::cli {

/// Thread-safe.
class PackTally {
 public:
  /// `line` and the context must outlive it; `all`: the number of plans to make.
  PackTally(const Context& context, ProgressLine& line, std::size_t all) : context_(context), line_(line), all_(all) {
    tell();
  }

  /// Counts a plan. `is_tuned`: tuned for exactly its problem; `is_near`: for a near one.
  void count(bool is_tuned, bool is_near) {
    const std::lock_guard lock(mutex_);
    ++packed_.problems;
    if (is_tuned) ++packed_.tuned;
    else if (is_near) ++packed_.nearest;
  }

  /// Counts a plan that was made, or failed.
  void one_is_done() {
    const std::lock_guard lock(mutex_);
    ++done_;
    tell();
  }

  PackedDevice packed() const {
    const DeviceInfo& info = context_.device();
    PackedDevice packed = packed_;
    packed.name = info.name;
    packed.architecture = info.architecture;
    packed.multiprocessors = info.multiprocessors;
    packed.kernels = context_.counters().kernels_compiled;
    return packed;
  }

 private:
  void tell() {
    const double of_one = done_ > 0 ? time_.seconds() / static_cast<double>(done_) : 0;
    const std::string left =
        done_ > 0 ? fmt::format(", {:.0f} s left", of_one * static_cast<double>(all_ - done_)) : std::string();
    line_.update(fmt::format("packing for {}: {} of {}{}", context_.device().name, done_, all_, left));
  }

  const Context& context_;
  ProgressLine& line_;
  std::size_t all_;
  std::size_t done_ = 0;
  PackedDevice packed_ = {};
  std::mutex mutex_;
  Stopwatch time_;
};

}  // namespace vostok::cli
