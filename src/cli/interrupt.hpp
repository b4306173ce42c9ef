// Handles Ctrl-C during long operations.
#pragma once

#include <signal.h>

namespace vostok::cli {

/// While it lives, the first SIGINT is recorded and a second one ends the program. Only one at a time: a signal handler
/// can only set process-wide state.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  static bool requested();

 private:
  struct sigaction before_ = {};
};

}  // namespace vostok::cli
