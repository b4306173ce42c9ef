// Built without -fsanitize=thread: instrumented code that runs while stacks change would confuse it.
#include "device/emulator/fiber.hpp"

#include <utility>

#include "device/emulator/sanitizer.hpp"

namespace vostok::device::emulator {
namespace {

/// Gives Boost.Context a stack that belongs to someone else.
struct BorrowedStack {
  Stack stack;
  boost::context::stack_context allocate() const {
    boost::context::stack_context context;
    context.sp = stack.bottom + stack.bytes;
    context.size = stack.bytes;
    return context;
  }
  void deallocate(boost::context::stack_context&) const noexcept {}
};

}  // namespace

void Fiber::start(Stack stack, void (*body)(void*), void* argument) {
  body_ = body;
  argument_ = argument;
  stack_ = stack;
  ended_ = false;
  sanitizer::permit(stack.bottom, stack.bytes);
  sanitizer_self_ = sanitizer::create_fiber();
  self_ = boost::context::fiber(std::allocator_arg, BorrowedStack{stack},
                                [this](boost::context::fiber&& resumer) { return run(std::move(resumer)); });
}

boost::context::fiber Fiber::run(boost::context::fiber&& resumer) {
  resumer_ = std::move(resumer);
  sanitizer::enter_stack(nullptr, &resumer_bottom_, &resumer_bytes_);
  body_(argument_);
  ended_ = true;
  sanitizer::leave_stack(nullptr, resumer_bottom_, resumer_bytes_);
  sanitizer::switch_to(sanitizer_resumer_);
  return std::move(resumer_);
}

void Fiber::resume() {
  void* saved = nullptr;
  sanitizer_resumer_ = sanitizer::current_fiber();
  sanitizer::leave_stack(&saved, stack_.bottom, stack_.bytes);
  sanitizer::switch_to(sanitizer_self_);
  self_ = std::move(self_).resume();
  sanitizer::enter_stack(saved, nullptr, nullptr);
  if (ended_) sanitizer::destroy_fiber(sanitizer_self_);
}

void Fiber::suspend() {
  void* saved = nullptr;
  sanitizer::leave_stack(&saved, resumer_bottom_, resumer_bytes_);
  sanitizer::switch_to(sanitizer_resumer_);
  resumer_ = std::move(resumer_).resume();
  sanitizer::enter_stack(saved, &resumer_bottom_, &resumer_bytes_);
}

}  // namespace vostok::device::emulator
