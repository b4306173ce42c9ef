#include "device/emulator/arena.hpp"

#include <cstring>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "device/emulator/sanitizer.hpp"

namespace vostok::device::emulator {
namespace {
std::size_t rounded(std::size_t bytes, std::size_t multiple) {
  return static_cast<std::size_t>(round_up(static_cast<std::int64_t>(bytes), static_cast<std::int64_t>(multiple)));
}
}  // namespace

Arena::Arena(std::size_t capacity_bytes)
    : pages_(rounded(capacity_bytes, page_bytes()) + 2 * page_bytes()),
      capacity_bytes_(rounded(capacity_bytes, page_bytes())) {
  if (!pages_ || !pages_.open(page_bytes(), capacity_bytes_))
    fail(ErrorCode::out_of_memory, "cannot run a block: no memory for {} bytes of shared memory", capacity_bytes);
}

unsigned char* Arena::reset(std::size_t bytes) {
  unsigned char* const first = pages_.begin() + page_bytes();
  unsigned char* const guard = first + capacity_bytes_;
  sanitizer::permit(first, capacity_bytes_);
  if (sanitizer::thread && !pages_.renew(page_bytes(), capacity_bytes_))
    fail(ErrorCode::out_of_memory, "cannot run a block: no memory for its shared memory");
  unsigned char* const begin = guard - rounded(bytes, 16);
  std::memset(begin, 0xff, static_cast<std::size_t>(guard - begin));
  sanitizer::forbid(pages_.begin(), pages_.bytes());
  sanitizer::permit(begin, bytes);
  return begin;
}

}  // namespace vostok::device::emulator
