// Trials and winners as rows of a tuning.db.
#pragma once

#include <string>

#include "cache/tuning_content.hpp"
#include "unit/cache/fixture.hpp"

namespace vostok::cache::testing {

inline TrialRow trial_row(const std::string& tile_rows, double median_us, int rounds = 15,
                          const std::string& uuid = "GPU-a") {
  TrialRow row{.problem = sample_problem(), .device = sample_device(uuid), .trial = sample_trial(tile_rows)};
  row.trial.is_default = tile_rows == "1";
  row.trial.median_us = median_us;
  row.trial.spread_us = 0.01;
  row.trial.rounds = rounds;
  row.trial.code_digest = "code" + tile_rows;
  return row;
}

inline WinnerRow winner_row(const std::string& tile_rows, const std::string& uuid = "GPU-a") {
  WinnerRow row{.problem = sample_problem(),
                .device = sample_device(uuid),
                .winner = sample_winner(tile_rows),
                .decided_at = 1700000000};
  row.winner.code_digest = "code" + tile_rows;
  return row;
}

}  // namespace vostok::cache::testing
