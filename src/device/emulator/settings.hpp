// The emulator's order of threads and guards of memory, the same for all launches of one device.
#pragma once

#include <cstdint>

namespace vostok::device::emulator {

/// The order in which threads and blocks run. A correct kernel gives the same result in each.
struct Order {
  enum class Kind { forward, reverse, seeded };
  Kind kind = Kind::seeded;
  std::uint64_t seed = 1;
};

/// The end of an allocation that borders an inaccessible page.
enum class Guard { end, start };

struct Settings {
  Order order = {};
  Guard guard = Guard::end;
};

/// VOSTOK_EMULATOR_ORDER = forward | reverse | <seed>, VOSTOK_EMULATOR_GUARD = end | start. Errors: invalid_argument.
Settings settings_from_environment();

}  // namespace vostok::device::emulator
