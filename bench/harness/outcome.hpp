// The result of one problem: the facts that targets are judged by.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/rivals.hpp"

namespace vostok::bench {

/// The result of a problem whose output was right.
struct Outcome {
  std::string label = {};
  std::int64_t n = 0;
  double sparsity = 0;
  double row_variation = 0;
  std::string family = {};
  double ours_us = 0;
  std::vector<Rival> rivals = {};
  std::optional<double> packing_us = {};    ///< of packing the values once
  std::optional<double> heuristic_us = {};  ///< of the heuristic's choice

  /// Nothing if the rival did not run this problem.
  std::optional<double> rival_us(const std::string& name) const {
    for (const Rival& rival : rivals)
      if (rival.name == name) return rival.us;
    return std::nullopt;
  }
};

}  // namespace vostok::bench
