// Tells the user, once for each sentence, that a cache works in a degraded way.
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
  /// Logs a sentence as information, every time: nothing has failed. Never throws.
  void note(const std::string& sentence) const noexcept;

  /// Holds back this thread's messages and logs them when it is destroyed. A user's sink may call the cache, so it must
  /// not be called under one of the cache's locks. Create this before taking the lock.
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
