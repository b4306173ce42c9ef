// One problem run in several ways: each verified through the problem's case, those that are right timed side by side.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/json.hpp"
#include "bench/peers/peer.hpp"
#include "tune/case.hpp"

namespace vostok::bench {

/// What one way did to the output, and how long it takes.
struct Measured {
  std::string peer = {};  ///< empty: ours
  std::string variant = {};
  tune::Check check = {};  ///< against the tolerance of this way
  Timed timed = {};

  bool counts() const { return timed.timing.has_value() && check.wrong.empty(); }
};

/// One result a run, in order. Operands, memory and streams are the same for all. A run that fails, while it is verified or timed, has a
/// failure; one whose output is wrong is timed all the same.
std::vector<Measured> hold_contest(device::Device& device, tune::Case& operands, const std::vector<PeerRun>& runs, int rounds);

/// {median_us, spread_us, launches, rounds, error, tolerance, verified, wrong}; with `failure` instead of times where there are none.
Json measured_json(const Measured& measured);

}  // namespace vostok::bench
