#include "tune/compile_ahead.hpp"

#include <algorithm>
#include <utility>

#include "tune/failure_status.hpp"

namespace vostok::tune {

CompileAhead::CompileAhead(Subject& subject, const std::vector<Candidate>& candidates, std::vector<std::size_t> order,
                           int threads, std::size_t needed, Clock::time_point deadline)
    : subject_(subject), candidates_(candidates), order_(std::move(order)), needed_(needed), deadline_(deadline) {
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
    result.status = failure_status(error, "compile_failed");
    result.reason = error.what();
  }
  return result;
}

std::optional<std::size_t> CompileAhead::take_position() {
  const std::lock_guard lock(mutex_);
  if (stop_ || started_ == order_.size()) return std::nullopt;
  if (started_ >= needed_ && deadline_ - Clock::now() <= longest_) {
    order_.resize(started_);
    finished_.notify_all();
    return std::nullopt;
  }
  return order_[started_++];
}

void CompileAhead::work() {
  while (const auto position = take_position()) {
    const auto start = Clock::now();
    Result result = compile(*position);
    const std::lock_guard lock(mutex_);
    longest_ = std::max(longest_, Clock::now() - start);
    ready_.push_back(std::move(result));
    finished_.notify_one();
  }
}

std::optional<Result> CompileAhead::next() {
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return !ready_.empty() || taken_ == order_.size(); });
  if (ready_.empty()) return std::nullopt;
  ++taken_;
  Result result = std::move(ready_.front());
  ready_.pop_front();
  return result;
}

}  // namespace vostok::tune
