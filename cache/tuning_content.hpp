// All rows of a tuning.db as values, independent of any file: merge, rank and prune transform them without a GPU.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cache/database.hpp"
#include "cache/errata.hpp"
#include "plan/stores.hpp"

namespace vostok::cache {

struct TrialRow {
  plan::ProblemKey problem;
  plan::DeviceKey device;  ///< with the driver that ran the trial
  plan::TrialRecord trial;
};

struct WinnerRow {
  plan::ProblemKey problem;
  plan::DeviceKey device;  ///< with the driver that was used for the choice
  plan::WinnerRecord winner;
  std::int64_t decided_at = 0;  ///< Unix seconds
};

struct TuningContent {
  std::vector<TrialRow> trials = {};
  std::vector<WinnerRow> winners = {};
  std::vector<Erratum> errata = {};
};

/// The name of a row: in one tuning.db, rows of equal names replace each other.
std::string row_name(const TrialRow& row);
std::string row_name(const WinnerRow& row);
/// The name of the problem and device to which a trial or a winner belongs.
std::string subject_name(const plan::ProblemKey& problem, const plan::DeviceKey& device);

/// Reads a tuning.db, or a text written by `vostok cache dump`. Rows that cannot be read (a config that is not a field
/// map, an unknown effort) are skipped. Errors: io_failure (no such file, neither of the two), invalid_argument (a line
/// of the text).
TuningContent read_content(const std::filesystem::path& path);

/// Converts to and from the text of a dump. Errors: invalid_argument naming the line.
std::string content_text(TuningContent content);
TuningContent parse_content(std::string_view text);

/// Writes a new file with these rows in one fixed order, so that equal content gives equal bytes. An old file is
/// replaced when the new one is complete. Errors: io_failure.
void write_content(TuningContent content, const std::filesystem::path& path);

/// Reads all readable rows, and adds or replaces rows in that order, in an open file within the caller's transaction.
TuningContent all_rows(Connection& connection);
void store_rows(TuningContent content, Connection& connection);

}  // namespace vostok::cache
