// All rows of a tuning.db as values, apart from any file: what merge, rank and prune turn into other rows without a GPU.
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
  plan::DeviceKey device;  ///< its driver is the one that the trial ran with
  plan::TrialRecord trial;
};

struct WinnerRow {
  plan::ProblemKey problem;
  plan::DeviceKey device;  ///< its driver is the one that the choice was made with
  plan::WinnerRecord winner;
  std::int64_t decided_at = 0;  ///< Unix seconds
};

struct TuningContent {
  std::vector<TrialRow> trials = {};
  std::vector<WinnerRow> winners = {};
  std::vector<Erratum> errata = {};
};

/// What names a row: rows of equal text stand in each other's place in one tuning.db.
std::string row_name(const TrialRow& row);
std::string row_name(const WinnerRow& row);
/// What a trial or a winner belongs to.
std::string subject_name(const plan::ProblemKey& problem, const plan::DeviceKey& device);

/// Of a tuning.db, or of a text as `vostok cache dump` writes it. Rows that cannot be read (a config that is no field map, an unknown
/// effort) are left out. Errors: io_failure (no such file, neither of the two), invalid_argument (a line of the text).
TuningContent read_content(const std::filesystem::path& path);

/// To and from the text of a dump. Errors: invalid_argument naming the line.
std::string content_text(TuningContent content);
TuningContent parse_content(std::string_view text);

/// Makes the file anew with these rows in one fixed order, so that equal content gives equal bytes. The old file, if there is one, is
/// replaced when the new one is complete. Errors: io_failure.
void write_content(TuningContent content, const std::filesystem::path& path);

/// The rows that can be read, and adding or replacing rows in that order, of an open file within the caller's transaction.
TuningContent all_rows(Connection& connection);
void store_rows(TuningContent content, Connection& connection);

}  // namespace vostok::cache
