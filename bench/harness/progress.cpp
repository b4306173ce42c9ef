#include "bench/harness/progress.hpp"

#include <cmath>
#include <cstdio>

#include "base/text.hpp"

namespace vostok::bench {

void Progress::start(const std::string& problem) {
  const std::size_t left = problems_ - started_;
  const double left_seconds =
      started_ == 0 ? 0 : elapsed_seconds() / static_cast<double>(started_) * static_cast<double>(left);
  const std::string estimate =
      started_ == 0 ? std::string() : fmt::format(", about {} left", duration_text(left_seconds));
  ++started_;
  if (started_ > 1 && elapsed_seconds() - said_seconds_ < pause_seconds_) return;
  said_seconds_ = elapsed_seconds();
  std::fputs(fmt::format("[{}/{}{}] {}\n", started_, problems_, estimate, problem).c_str(), stderr);
}

std::string duration_text(double seconds) {
  const long whole = std::lround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  return fmt::format("{} min {} s", whole / 60, whole % 60);
}

}  // namespace vostok::bench
