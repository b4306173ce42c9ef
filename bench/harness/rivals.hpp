// The rivals of one problem: peers that ran beside it, times measured elsewhere, and bounds.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/baselines.hpp"
#include "bench/harness/contest.hpp"

namespace vostok::bench {

struct Rival {
  std::string name = {};
  double us = 0;
  double spread_us = 0;  ///< 0 if unknown
};

/// The better of cuSPARSE and Sputnik: measured here if possible, else elsewhere.
inline constexpr const char* better_sparse_peer = "better sparse peer";
/// The name of a time measured elsewhere: "sputnik (baseline)".
std::string baseline_name(const std::string& peer);

/// Each peer's fastest correct way, in order of appearance; then the baselines' times; then the better sparse peer, if
/// any.
std::vector<Rival> find_rivals(const std::vector<Measured>& measured, const Baseline& baseline);

}  // namespace vostok::bench
