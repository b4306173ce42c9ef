// Ctrl-C while something long runs.
#pragma once

#include <signal.h>

namespace vostok::cli {

/// While it lives, the first SIGINT is noted, and a second one ends the program. One at a time: signals have no other place to leave a note than
/// one for the whole process.
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
