// Rows of tuning.db as the planner's records: the only SQL over that file besides the schema and dump.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cache/database.hpp"
#include "cache/tuning_content.hpp"
#include "plan/nearest.hpp"
#include "plan/stores.hpp"

namespace vostok::cache {

/// Winners of the problem's operation, exact text and policy, of any device, whose sizes are within reach. Rows that
/// cannot be read (a config that is not a field map, an unknown effort) are skipped. `layer` and `shipped` are not set.
std::vector<plan::StoredWinner> winners_near(Connection& connection, const plan::ProblemKey& problem);

/// Only the winners of exactly this problem.
std::vector<plan::StoredWinner> winners_of(Connection& connection, const plan::ProblemKey& problem);

/// Trials of exactly this problem and device; unreadable rows are skipped.
std::vector<plan::TrialRecord> trials_of(Connection& connection, const plan::ProblemKey& problem,
                                         const plan::DeviceKey& device);

/// Every readable row, in no order.
std::vector<TrialRow> all_trials(Connection& connection);
std::vector<WinnerRow> all_winners(Connection& connection);

/// Adds or replaces.
void store_trial(Connection& connection, const plan::ProblemKey& problem, const plan::DeviceKey& device,
                 const plan::TrialRecord& trial);
void store_winner(Connection& connection, const plan::ProblemKey& problem, const plan::DeviceKey& device,
                  const plan::WinnerRecord& winner, std::int64_t decided_at);

/// The row's id; creates the row if it is missing.
std::int64_t device_row(Connection& connection, const plan::DeviceKey& device);
std::int64_t problem_row(Connection& connection, const plan::ProblemKey& problem);

std::optional<Effort> parse_effort(std::string_view text);

}  // namespace vostok::cache
