#include "cache/reporter.hpp"

#include <utility>

namespace vostok::cache {

Reporter::Reporter(std::shared_ptr<Logger> logger, std::function<void()> count_warning)
    : logger_(std::move(logger)), count_warning_(std::move(count_warning)) {}

void Reporter::degraded(const std::string& sentence) const noexcept {
  try {
    if (count_warning_) count_warning_();
    const std::lock_guard lock(mutex_);
    if (const auto held = held_.find(std::this_thread::get_id()); held != held_.end()) return held->second.push_back(sentence);
  } catch (...) {  // what cannot be counted or kept is still told
  }
  log(sentence);
}

void Reporter::log(const std::string& sentence) const noexcept {
  try {
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

Reporter::Hold::Hold(const Reporter& reporter) : reporter_(reporter) {
  const std::lock_guard lock(reporter.mutex_);
  outermost_ = reporter.held_.try_emplace(std::this_thread::get_id()).second;
}

Reporter::Hold::~Hold() {
  if (!outermost_) return;
  std::vector<std::string> sentences;
  {
    const std::lock_guard lock(reporter_.mutex_);
    const auto held = reporter_.held_.find(std::this_thread::get_id());
    sentences = std::move(held->second);
    reporter_.held_.erase(held);
  }
  for (const std::string& sentence : sentences) reporter_.log(sentence);
}

}  // namespace vostok::cache
