// Powers of two, which rules ask for.
#pragma once

namespace vostok {

constexpr bool is_power_of_two(int value) { return value > 0 && (value & (value - 1)) == 0; }

}  // namespace vostok
