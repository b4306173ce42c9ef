#include "device/emulator/fiber_stacks.hpp"

#include "base/text.hpp"
#include "device/emulator/sanitizer.hpp"

namespace vostok::device::emulator {
namespace {

/// Instrumented frames are several times larger.
constexpr std::size_t stack_bytes = sanitizer::address || sanitizer::thread ? 256 * 1024 : 64 * 1024;

std::size_t stride() { return stack_bytes + page_bytes(); }
std::size_t offset_of(std::size_t i) { return i * stride() + page_bytes(); }

}  // namespace

void FiberStacks::reserve(std::size_t count) {
  if (count <= count_) return;
  count_ = 0;
  pages_ = {};
  Pages pages(count * stride());
  bool good = static_cast<bool>(pages);
  for (std::size_t i = 0; good && i < count; ++i) good = pages.open(offset_of(i), stack_bytes);
  if (!good)
    fail(ErrorCode::out_of_memory, "cannot run a block of {} threads: no memory for their stacks of {} bytes", count,
         stack_bytes);
  pages_ = std::move(pages);
  count_ = count;
}

Stack FiberStacks::at(std::size_t i) const {
  // What ran on this stack before is another CUDA thread, not ordered with the next one.
  if (sanitizer::thread && !pages_.renew(offset_of(i), stack_bytes))
    fail(ErrorCode::out_of_memory, "cannot run a block: no memory for the stack of thread {}", i);
  return {pages_.begin() + offset_of(i), stack_bytes};
}

}  // namespace vostok::device::emulator
