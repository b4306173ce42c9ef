#include "tune/worker_patience.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "base/text.hpp"

namespace vostok::tune {

namespace {

using Clock = Patience::Clock;

/// Interval between two looks at the worker.
constexpr Clock::duration look_every = std::chrono::milliseconds(100);
/// A look later than this after the last means that this process did not run for a while.
constexpr Clock::duration most_a_look = std::chrono::seconds(1);

Clock::duration limit_of(double seconds) {
  constexpr double longest = 1e8;
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::clamp(seconds, 0.0, longest)));
}

}  // namespace

bool is_stopped(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  // "123 (name) T ...": a name may hold parentheses and blanks.
  const std::size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return false;
  const char state = text[name_end + 2];
  return state == 'T' || state == 't';
}

WorkerPatience::WorkerPatience(pid_t worker, double seconds) : worker_(worker), limit_(limit_of(seconds)) {}

int WorkerPatience::next_wait_ms() {
  const Clock::time_point now = Clock::now();
  const Clock::duration passed = std::min(now - last_, most_a_look);
  last_ = now;
  (is_stopped(worker_) ? stopped_ : ran_) += passed;
  return to_wait_ms(std::min(limit_ - std::max(ran_, stopped_), look_every));
}

}  // namespace vostok::tune
