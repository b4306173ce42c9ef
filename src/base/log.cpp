#include "base/log.hpp"

#include <cstdio>
#include <utility>

#include <vostok/context.hpp>

namespace vostok {

namespace {
void to_stderr(LogLevel level, std::string_view line) {
  std::fprintf(stderr, "vostok: %s%.*s\n", level == LogLevel::warning ? "warning: " : "", static_cast<int>(line.size()), line.data());
}
}  // namespace

Logger::Logger(Sink sink) : sink_(sink ? std::move(sink) : Sink(to_stderr)) {}

void Logger::write(LogLevel level, std::string_view line) {
  const std::lock_guard lock(mutex_);
  sink_(level, line);
}

void Logger::info(std::string_view line) { write(LogLevel::info, line); }

void Logger::warning(std::string_view line) { write(LogLevel::warning, line); }

void Logger::warning_once(const std::string& line) {
  {
    const std::lock_guard lock(mutex_);
    if (!given_.insert(line).second) return;
  }
  warning(line);
}

}  // namespace vostok
