#include "base/log.hpp"

#include <cstdio>
#include <utility>

#include <vostok/context.hpp>

namespace vostok {

namespace {
/// One call, so that lines of several threads stay whole.
void to_stderr(LogLevel level, std::string_view line) {
  std::fprintf(stderr, "vostok: %s%.*s\n", level == LogLevel::warning ? "warning: " : "", static_cast<int>(line.size()),
               line.data());
}
}  // namespace

Logger::Logger(Sink sink) : sink_(sink ? std::move(sink) : Sink(to_stderr)) {}

/// Without the lock: a sink may log, plan or wait for another thread that does.
void Logger::write(LogLevel level, std::string_view line) const { sink_(level, line); }

void Logger::info(std::string_view line) const { write(LogLevel::info, line); }

void Logger::warning(std::string_view line) const { write(LogLevel::warning, line); }

void Logger::warning_once(const std::string& line) {
  {
    const std::lock_guard lock(mutex_);
    if (!given_.insert(line).second) return;
  }
  warning(line);
}

}  // namespace vostok
