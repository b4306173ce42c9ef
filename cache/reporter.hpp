// Tells the user, once for each sentence, that a cache serves less than it could.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/log.hpp"

namespace vostok::cache {

class Reporter {
 public:
  Reporter(std::shared_ptr<Logger> logger, std::function<void()> count_warning);
  /// Logs "cache: <sentence>" and counts. Never throws, whatever the sinks do.
  void degraded(const std::string& sentence) const noexcept;
  /// Logs the same, as often as asked, as information: nothing has failed. Never throws.
  void note(const std::string& sentence) const noexcept;

 private:
  std::shared_ptr<Logger> logger_;
  std::function<void()> count_warning_;
};

}  // namespace vostok::cache
