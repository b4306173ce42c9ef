// Which process made an object. Threads, devices and locks of a parent are not there in a child that fork makes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace vostok {

/// How many forks lie between the first process and this one. It is the library's one mutable global: a fork happens to
/// a process, and the handler that counts it has nothing else to write to. Objects of one count are never seen in
/// another process of the same count.
extern std::atomic<std::uint64_t> fork_count;

class ProcessMark {
 public:
  /// Marks this process. Errors: out_of_memory.
  ProcessMark();
  /// Whether this is the process that was marked: one load, no system call.
  bool is_here() const noexcept { return forks_ == fork_count.load(std::memory_order_relaxed); }

 private:
  std::uint64_t forks_;
};

/// A shared object whose destructor a child process never runs: its copy leaks. The destructor would wait for threads
/// that only the parent has, or give back what the parent still uses.
template <class T, class... Arguments>
std::shared_ptr<T> make_shared_here(Arguments&&... arguments) {
  const ProcessMark mark;
  return std::shared_ptr<T>(new T(std::forward<Arguments>(arguments)...), [mark](T* object) {
    if (mark.is_here()) delete object;
  });
}

}  // namespace vostok
