// A computation on its own stack, resumed and suspended by one OS thread.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>

#include "device/emulator/fiber_stacks.hpp"

namespace vostok::device::emulator {

class Fiber {
 public:
  Fiber() = default;
  Fiber(const Fiber&) = delete;  // the suspended computation holds its address
  Fiber& operator=(const Fiber&) = delete;

  /// Prepares `body(argument)`, which must not throw; it starts at the first resume. A previous computation must have
  /// ended.
  void start(Stack stack, void (*body)(void*), void* argument);
  /// Runs it until it suspends or ends.
  void resume();
  /// Called by the computation itself: returns to whoever resumed it.
  void suspend();

 private:
  boost::context::fiber run(boost::context::fiber&& resumer);

  boost::context::fiber self_;
  boost::context::fiber resumer_;
  void (*body_)(void*) = nullptr;
  void* argument_ = nullptr;
  bool ended_ = true;
  Stack stack_;
  void* sanitizer_self_ = nullptr;
  void* sanitizer_resumer_ = nullptr;
  const void* resumer_bottom_ = nullptr;
  std::size_t resumer_bytes_ = 0;
};

}  // namespace vostok::device::emulator
