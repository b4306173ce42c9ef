#include "device/user_memory.hpp"

#include "base/text.hpp"

namespace vostok::device {

void* allocate_from_user(Allocator& allocator, std::int64_t bytes) {
  if (bytes == 0) return nullptr;
  void* const memory = allocator.allocate(bytes);
  if (memory == nullptr)
    fail(ErrorCode::out_of_memory,
         "cannot allocate {} bytes of device memory: the allocator of the options has none left", bytes);
  if (reinterpret_cast<std::uintptr_t>(memory) % memory_alignment_bytes != 0) {
    allocator.release(memory);
    fail(ErrorCode::invalid_argument,
         "cannot use {} bytes from the allocator of the options: {} is not aligned to {} bytes", bytes, memory,
         memory_alignment_bytes);
  }
  return memory;
}

}  // namespace vostok::device
