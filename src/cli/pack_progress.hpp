// How far packing for one device has come.
#pragma once

#include <cstddef>
#include <mutex>
#include <utility>

#include "base/text.hpp"
#include "cli/progress_line.hpp"
#include "cli/stopwatch.hpp"

namespace vostok::cli {

/// Thread-safe.
class PackProgress {
 public:
  /// `line` must outlive it.
  PackProgress(ProgressLine& line, std::string target, std::size_t all) : line_(line), target_(std::move(target)), all_(all) { tell(0); }

  void one_is_done() {
    const std::lock_guard lock(mutex_);
    tell(++done_);
  }

 private:
  void tell(std::size_t done) {
    const std::string left =
        done > 0 ? fmt::format(", {:.0f} s left", time_.seconds() / static_cast<double>(done) * static_cast<double>(all_ - done)) : "";
    line_.update(fmt::format("packing for {}: {} of {}{}", target_, done, all_, left));
  }

  ProgressLine& line_;
  std::string target_;
  std::size_t all_;
  std::size_t done_ = 0;
  std::mutex mutex_;
  Stopwatch time_;
};

}  // namespace vostok::cli
