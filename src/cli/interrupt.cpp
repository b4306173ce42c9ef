#include "cli/interrupt.hpp"

#include <atomic>

namespace vostok::cli {

namespace {

std::atomic<bool> noted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

void note(int) { noted = true; }

}  // namespace

Interrupt::Interrupt() {
  noted = false;
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &before_);
}

Interrupt::~Interrupt() { sigaction(SIGINT, &before_, nullptr); }

bool Interrupt::requested() { return noted; }

}  // namespace vostok::cli
