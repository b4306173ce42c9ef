#include "base/process_mark.hpp"

#include <pthread.h>

#include <cstring>

#include "base/text.hpp"

namespace vostok {

std::atomic<std::uint64_t> fork_count = 0;

namespace {

int count_forks() {
  return pthread_atfork(nullptr, nullptr, [] { fork_count.fetch_add(1, std::memory_order_relaxed); });
}

}  // namespace

ProcessMark::ProcessMark() : forks_(fork_count.load(std::memory_order_relaxed)) {
  static const int error = count_forks();  // once
  if (error != 0)
    fail(ErrorCode::out_of_memory, "cannot watch for forks: pthread_atfork failed: {}", std::strerror(error));
}

}  // namespace vostok
