// Tells the user, once for each sentence, that a cache serves less than it could.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/log.hpp"

namespace vostok::cache {

class Reporter {
 public:
  Reporter(std::shared_ptr<Logger> logger, std::function<void()> count_warning);
  /// Logs "cache: <sentence>" and counts. Never throws, whatever the sinks do.
  void degraded(const std::string& sentence) const noexcept;
  /// Logs the same, as often as asked, as information: nothing has failed. Never throws.
  void note(const std::string& sentence) const noexcept;

  /// While it lives, what this thread reports is kept; then it is logged. A user's sink may ask the cache again: it must not be called under a lock
  /// of the cache's. Made before that is taken.
  class Hold {
   public:
    explicit Hold(const Reporter& reporter);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    const Reporter& reporter_;
    bool outermost_ = false;  ///< of this thread
  };

 private:
  struct Line {
    LogLevel level;
    std::string sentence;
  };
  void tell(Line line) const noexcept;
  void log(const Line& line) const noexcept;

  std::shared_ptr<Logger> logger_;
  std::function<void()> count_warning_;
  mutable std::mutex mutex_;
  mutable std::map<std::thread::id, std::vector<Line>> held_;  ///< of threads with a Hold
};

}  // namespace vostok::cache
