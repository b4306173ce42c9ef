#include "cache/reporter.hpp"

#include <utility>

namespace vostok::cache {

Reporter::Reporter(std::shared_ptr<Logger> logger, std::function<void()> count_warning)
    : logger_(std::move(logger)), count_warning_(std::move(count_warning)) {}

void Reporter::degraded(const std::string& sentence) const noexcept {
  try {
    if (count_warning_) count_warning_();
    if (logger_) logger_->warning_once("cache: " + sentence);
  } catch (...) {  // a user's sink that throws must not turn a slower start into a failed one
  }
}

void Reporter::note(const std::string& sentence) const noexcept {
  try {
    if (logger_) logger_->info("cache: " + sentence);
  } catch (...) {  // as above
  }
}

}  // namespace vostok::cache
