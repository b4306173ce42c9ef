#include "cache/reporter.hpp"

#include <utility>

#include <vostok/context.hpp>

namespace vostok::cache {

Reporter::Reporter(std::shared_ptr<Logger> logger, std::function<void()> count_warning)
    : logger_(std::move(logger)), count_warning_(std::move(count_warning)) {}

void Reporter::degraded(const std::string& sentence) const noexcept {
  try {
    if (count_warning_) count_warning_();
  } catch (...) {  // logged even if it cannot be counted
  }
  tell({LogLevel::warning, sentence});
}

void Reporter::note(const std::string& sentence) const noexcept { tell({LogLevel::info, sentence}); }

void Reporter::tell(Line line) const noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (const auto held = held_.find(std::this_thread::get_id()); held != held_.end())
      return held->second.push_back(std::move(line));
  } catch (...) {  // logged at once if it cannot be held back
  }
  log(line);
}

void Reporter::log(const Line& line) const noexcept {
  try {
    if (!logger_) return;
    if (line.level == LogLevel::warning) logger_->warning_once("cache: " + line.sentence);
    else logger_->info("cache: " + line.sentence);
  } catch (...) {  // a user's sink that throws must not turn a slower start into a failed one
  }
}

Reporter::Hold::Hold(const Reporter& reporter) : reporter_(reporter) {
  const std::lock_guard lock(reporter.mutex_);
  outermost_ = reporter.held_.try_emplace(std::this_thread::get_id()).second;
}

Reporter::Hold::~Hold() {
  if (!outermost_) return;
  std::vector<Line> lines;
  {
    const std::lock_guard lock(reporter_.mutex_);
    const auto held = reporter_.held_.find(std::this_thread::get_id());
    lines = std::move(held->second);
    reporter_.held_.erase(held);
  }
  for (const Line& line : lines) reporter_.log(line);
}

}  // namespace vostok::cache
