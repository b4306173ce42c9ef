#include "tune/compile_ahead.hpp"

#include <algorithm>
#include <utility>

namespace vostok::tune {

CompileAhead::CompileAhead(Subject& subject, const std::vector<Candidate>& candidates, std::vector<std::size_t> order, int threads)
    : subject_(subject), candidates_(candidates), order_(std::move(order)) {
  const int count = std::clamp(threads, 1, static_cast<int>(std::max<std::size_t>(order_.size(), 1)));
  for (int i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
}

CompileAhead::~CompileAhead() {
  const std::lock_guard lock(mutex_);
  stop_ = true;
}

Result CompileAhead::compile(std::size_t position) const {
  Result result;
  result.candidate = position;
  try {
    result.compiled = subject_.compile(candidates_[position]);
    if (!result.compiled.screened.empty()) {
      result.status = "screened";
      result.reason = result.compiled.screened;
    }
  } catch (const std::exception& error) {
    result.status = "compile_failed";
    result.reason = error.what();
  }
  return result;
}

void CompileAhead::work() {
  for (;;) {
    std::size_t position = 0;
    {
      const std::lock_guard lock(mutex_);
      if (stop_ || started_ == order_.size()) return;
      position = order_[started_++];
    }
    Result result = compile(position);
    const std::lock_guard lock(mutex_);
    ready_.push_back(std::move(result));
    finished_.notify_one();
  }
}

std::optional<Result> CompileAhead::next() {
  std::unique_lock lock(mutex_);
  if (taken_ == order_.size()) return std::nullopt;
  finished_.wait(lock, [this] { return !ready_.empty(); });
  ++taken_;
  Result result = std::move(ready_.front());
  ready_.pop_front();
  return result;
}

}  // namespace vostok::tune
