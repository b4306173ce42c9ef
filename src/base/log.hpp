// Where the library's few lines go. A Logger is owned by a context; there is no global.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace vostok {

enum class LogLevel;

class Logger {
 public:
  /// Called from any thread, by several at once, and never while the logger holds a lock.
  using Sink = std::function<void(LogLevel, std::string_view)>;
  explicit Logger(Sink sink = {});  ///< empty: stderr
  void info(std::string_view line) const;
  void warning(std::string_view line) const;
  /// A warning with this text is given once per logger.
  void warning_once(const std::string& line);

 private:
  void write(LogLevel level, std::string_view line) const;
  const Sink sink_;
  std::mutex mutex_;  ///< of given_
  std::set<std::string> given_;
};

}  // namespace vostok
