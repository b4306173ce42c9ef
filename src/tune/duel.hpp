// Two launches against each other, for a time so short that a plan may spend it unasked.
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

/// Times both in turns on warm operands until `budget_us` of the device's time are spent, warm-up included. Nothing where a verdict (three rounds
/// at least) does not fit.
std::optional<Verdict> duel(device::Device& device, const std::function<void(Stream)>& first, const std::function<void(Stream)>& second,
                            double budget_us);

}  // namespace vostok::tune
