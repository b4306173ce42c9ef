// A race of two launches, so short that a plan may run it without being told to tune.
#pragma once

#include <functional>
#include <optional>

#include "device/device.hpp"
#include "tune/samples.hpp"

namespace vostok::tune {

struct Verdict {
  Summary first;
  Summary second;
  int rounds = 0;
};

/// Times both in turns on warm operands until `budget_us` of device time are spent, warm-up included. Nothing if a
/// verdict, which needs at least three rounds, does not fit.
std::optional<Verdict> duel(device::Device& device, const std::function<void(Stream)>& first,
                            const std::function<void(Stream)>& second, double budget_us);

}  // namespace vostok::tune
