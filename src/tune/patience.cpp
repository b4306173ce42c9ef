#include "tune/patience.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace vostok::tune {

int to_wait_ms(Patience::Clock::duration left) {
  if (left <= Patience::Clock::duration::zero()) return 0;
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::min<std::int64_t>(ms + 1, std::numeric_limits<int>::max()));
}

int PatienceUntil::next_wait_ms() { return to_wait_ms(deadline_ - Clock::now()); }

}  // namespace vostok::tune
