// A limit on the cost of one statement over a file: a small file can be crafted so that reading it never ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace vostok::cache {

/// Not thread-safe, like the connection that owns it.
class Allowance {
 public:
  /// `bytes`: the file's present size. The file may grow, so this is called only after much has been read. Nothing: no
  /// file, and no limit but time.
  Allowance(std::string name, std::function<std::int64_t()> bytes);

  void begin();  ///< at each statement, and after waiting for a lock

  /// Called by SQLite every steps_at_once steps of its machine. False: the statement ends here.
  static constexpr int steps_at_once = 10000;
  bool step() noexcept;

  /// Checks all bytes that one statement has returned. Errors: DatabaseError (damaged) if no file of this size contains
  /// that much.
  void check_read(std::int64_t read_bytes) const;

  /// Reports why `step` ended a statement. Throws DatabaseError, naming the file and the time.
  [[noreturn]] void fail() const;

  void set_limit(std::chrono::milliseconds limit) { limit_ = limit; }
  const std::string& name() const { return name_; }  ///< of the file, for messages

 private:
  using Clock = std::chrono::steady_clock;
  std::int64_t times_the_file(std::int64_t floor, std::int64_t factor) const;

  std::string name_;
  std::function<std::int64_t()> bytes_;
  std::chrono::milliseconds limit_ = std::chrono::seconds(60);  // longer than any statement on a sound file takes
  Clock::time_point since_ = Clock::now();
  std::int64_t steps_ = 0;
  std::int64_t most_steps_ = 0;
  bool is_late_ = false;
};

}  // namespace vostok::cache
