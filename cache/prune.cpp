#include "cache/prune.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "cache/code_rows.hpp"
#include "cache/rank.hpp"
#include "cache/schema.hpp"

namespace vostok::cache {

namespace {

std::int64_t size_of(const std::filesystem::path& path) {
  std::error_code ignored;
  return static_cast<std::int64_t>(std::filesystem::file_size(path, ignored));
}

/// Whether a trial bans its machine code.
bool bans(const plan::TrialRecord& trial) {
  return plan::is_failure(trial.status, trial.reason) && !trial.code_digest.empty();
}

/// Whether a trial is removed because its code failed somewhere.
bool goes_with_ban(const plan::TrialRecord& trial, const PruneSettings& settings) {
  if (trial.status == "measured") return settings.banned;
  return settings.lift_bans && (bans(trial) || trial.status == "banned");
}

/// For each of `trials`, whether it stays.
std::vector<bool> kept_trials(const std::vector<TrialRow>& trials, const std::vector<std::string>& banned,
                              const PruneSettings& settings, std::int64_t now) {
  std::vector<bool> kept(trials.size(), true);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const plan::TrialRecord& trial = trials[i].trial;
    const bool is_old = settings.older_than_seconds && trial.measured_at < now - *settings.older_than_seconds;
    if ((is_old && !bans(trial)) || (is_banned(banned, trial) && goes_with_ban(trial, settings))) kept[i] = false;
  }
  if (settings.stale)
    for (const TrialRow* row : stale_trials(trials))
      if (!bans(row->trial)) kept[static_cast<std::size_t>(row - trials.data())] = false;
  return kept;
}

/// Checks pages first: SQLite empties a table and copies a file in steps that nothing ends, so that a
/// malformed file could fill a disk.
void require_sound_pages(Connection& connection) {
  const auto faults = page_faults(connection, 1);
  if (!faults.empty())
    throw DatabaseError(Failure::damaged,
                        fmt::format("cannot prune {}: it is malformed: {}", connection.name(), faults.front()));
}

void prune_content(TuningContent& content, const PruneSettings& settings, std::int64_t now) {
  const auto banned = banned_code(content.trials);
  const auto kept = kept_trials(content.trials, banned, settings, now);
  std::vector<TrialRow> trials;
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (kept[i]) trials.push_back(std::move(content.trials[i]));
  content.trials = std::move(trials);
  if (settings.banned)
    std::erase_if(content.winners,
                  [&](const WinnerRow& row) { return is_banned(banned, row.winner.family, row.winner.code_digest); });
}

void prune_tuning(Connection& connection, const PruneSettings& settings, std::int64_t now, Pruned& pruned) {
  Transaction transaction(connection);
  TuningContent content = all_rows(connection);
  pruned.trials = row_count(connection, "trial");
  pruned.winners = row_count(connection, "winner");
  prune_content(content, settings, now);
  pruned.trials -= std::ssize(content.trials);
  pruned.winners -= std::ssize(content.winners);
  connection.execute(
      "DELETE FROM trial; DELETE FROM winner; DELETE FROM errata; DELETE FROM problem; DELETE FROM device");
  store_rows(std::move(content), connection);
  transaction.commit();
}

void prune_code(Connection& connection, const PruneSettings& settings, std::int64_t now, Pruned& pruned) {
  Transaction transaction(connection);
  pruned.kernels = row_count(connection, "code");
  if (settings.older_than_seconds)
    connection.run("DELETE FROM code WHERE last_use < ?", now - *settings.older_than_seconds);
  if (settings.max_bytes) shrink_code(connection, *settings.max_bytes);
  pruned.kernels -= row_count(connection, "code");
  transaction.commit();
}

}  // namespace

Pruned prune(const std::filesystem::path& path, const PruneSettings& settings, std::int64_t now) {
  if (!std::filesystem::exists(path)) fail(ErrorCode::io_failure, "cannot prune {}: it is not there", path.string());
  Pruned pruned{.bytes_before = size_of(path)};
  {
    Connection connection(path, Access::read_write, tool_lock_timeout_ms);
    const Content content = require_cache_file(connection);
    require_sound_pages(connection);
    if (content == Content::tuning) prune_tuning(connection, settings, now, pruned);
    else prune_code(connection, settings, now, pruned);
    connection.execute("VACUUM");
  }
  pruned.bytes_after = size_of(path);
  return pruned;
}

}  // namespace vostok::cache
