// fork() for a child that ends by _exit: ThreadSanitizer writes buffered output there, which the child shares with its
// parent.
#pragma once

#include <unistd.h>

#include <iostream>

namespace vostok::test {

inline pid_t flushed_fork() {
  std::cout.flush();
  return ::fork();
}

}  // namespace vostok::test
