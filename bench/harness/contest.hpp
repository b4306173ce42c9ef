// Runs one problem in several ways: verifies each through the problem's case, and times the correct ones side by side.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/json.hpp"
#include "bench/peers/peer.hpp"
#include "tune/case.hpp"

namespace vostok::bench {

/// The result of one way: its output's check, and its time.
struct Measured {
  std::string peer = {};  ///< empty: ours
  std::string variant = {};
  tune::Check check = {};  ///< against the tolerance of this way
  Timed timed = {};

  bool counts() const { return timed.timing.has_value() && check.wrong.empty(); }
};

/// One result for each run, in order. Operands, memory and streams are the same for all. A run that fails, during
/// verification or timing, has a failure; one whose output is wrong is timed all the same.
std::vector<Measured> hold_contest(device::Device& device, tune::Case& operands, const std::vector<PeerRun>& runs,
                                   int rounds);

/// {median_us, spread_us, launches, rounds, error, tolerance, verified, wrong}; with `failure` instead of times if
/// there are none.
Json measured_json(const Measured& measured);

}  // namespace vostok::bench
