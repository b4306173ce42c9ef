// What ours is compared with on one problem: the peers that ran beside it, times reached elsewhere, and bounds.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/baselines.hpp"
#include "bench/harness/contest.hpp"

namespace vostok::bench {

struct Rival {
  std::string name = {};
  double us = 0;
  double spread_us = 0;  ///< 0 where it is not known
};

/// The better of cuSPARSE and Sputnik: measured here where that is possible, else elsewhere.
inline constexpr const char* better_sparse_peer = "better sparse peer";
/// Of a time that was measured elsewhere: "sputnik (baseline)".
std::string baseline_name(const std::string& peer);

/// Each peer's fastest way whose output was right, in order of appearance; then the baseline's; then the better sparse peer, if any.
std::vector<Rival> find_rivals(const std::vector<Measured>& measured, const Baseline& baseline);

}  // namespace vostok::bench
