#include "cli/launch_watch.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace vostok::cli {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The estimated time left, if `done` of `all` took `seconds`.
std::string left_text(double done, double all, double seconds) {
  if (!(done > 0)) return {};
  return fmt::format(", about {:.0f} s left", seconds * std::max(all - done, 0.0) / done);
}

}  // namespace

std::string phase_text(const Phase& phase) {
  std::string text = fmt::format("{} for {:.0f} s", phase.what, phase.seconds);
  const double done = static_cast<double>(phase.progress.ended) + phase.progress.share.value_or(0);
  if (phase.launches) {
    const double all = std::max(static_cast<double>(*phase.launches), done);
    return text + fmt::format(": {:.0f} % done", 100 * done / all) + left_text(done, all, phase.seconds);
  }
  if (!phase.progress.share) return text;
  const double all = static_cast<double>(phase.progress.ended) + 1;
  return text + fmt::format(": {:.0f} % of launch {} done", 100 * *phase.progress.share, phase.progress.ended + 1) +
         left_text(done, all, phase.seconds) + " of it";
}

LaunchWatch::LaunchWatch(Look look, Tell tell, std::chrono::milliseconds patience, std::chrono::milliseconds interval)
    : look_(std::move(look)), tell_(std::move(tell)), patience_(patience), interval_(interval) {
  if (look_()) thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

void LaunchWatch::begin(std::string what, int executes) {
  const auto progress = look_();
  const std::lock_guard lock(mutex_);
  const std::int64_t ended = progress ? progress->ended : 0;
  if (executes_ > 0 && ended > ended_before_) launches_of_one_ = (ended - ended_before_) / executes_;
  what_ = std::move(what);
  began_ = std::chrono::steady_clock::now();
  ended_before_ = ended;
  executes_ = executes;
  changed_.notify_all();
}

Phase LaunchWatch::now(const device::LaunchProgress& progress) const {
  Phase phase{.what = what_, .seconds = seconds_since(began_), .progress = progress};
  phase.progress.ended -= ended_before_;
  if (executes_ > 0 && launches_of_one_) phase.launches = *launches_of_one_ * executes_;
  return phase;
}

void LaunchWatch::watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const auto began = began_;
    const bool is_new = changed_.wait_for(
        lock, stop, seconds_since(began) < std::chrono::duration<double>(patience_).count() ? patience_ : interval_,
        [&] { return began_ != began; });
    if (is_new || stop.stop_requested() || what_.empty()) continue;
    if (const auto progress = look_()) tell_(phase_text(now(*progress)));
  }
}

}  // namespace vostok::cli
