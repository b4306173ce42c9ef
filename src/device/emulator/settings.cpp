#include "device/emulator/settings.hpp"

#include <charconv>
#include <string>

#include "base/environment.hpp"
#include "base/text.hpp"

namespace vostok::device::emulator {
namespace {

Order parse_order(const std::string& text) {
  if (text == "forward") return {.kind = Order::Kind::forward};
  if (text == "reverse") return {.kind = Order::Kind::reverse};
  Order order;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, order.seed);
  if (error != std::errc() || stop != end)
    fail(ErrorCode::invalid_argument,
         "cannot open the emulator: VOSTOK_EMULATOR_ORDER is '{}', not forward, reverse or a seed", text);
  return order;
}

Guard parse_guard(const std::string& text) {
  if (text == "end") return Guard::end;
  if (text == "start") return Guard::start;
  fail(ErrorCode::invalid_argument, "cannot open the emulator: VOSTOK_EMULATOR_GUARD is '{}', not end or start", text);
}

}  // namespace

Settings settings_from_environment() {
  Settings settings;
  if (const auto order = environment("VOSTOK_EMULATOR_ORDER")) settings.order = parse_order(*order);
  if (const auto guard = environment("VOSTOK_EMULATOR_GUARD")) settings.guard = parse_guard(*guard);
  return settings;
}

}  // namespace vostok::device::emulator
