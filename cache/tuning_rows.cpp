#include "cache/tuning_rows.hpp"

#include <array>

#include "base/field_map.hpp"
#include "base/text.hpp"

namespace vostok::cache {

namespace {

constexpr const char* find_device =
    "SELECT id FROM device WHERE uuid = ? AND name = ? AND architecture = ? AND multiprocessors = ?";

constexpr const char* find_problem =
    "SELECT id FROM problem WHERE operation = ? AND exact = ? AND policy = ? AND n = ? AND m = ? AND k = ? AND "
    "nonzeros = ? AND longest_row = ?"
    " AND row_variation = ? AND index_type = ?";

Statement device_query(Connection& connection, const plan::DeviceKey& device) {
  return connection.query(find_device, device.uuid, device.name, device.architecture, device.multiprocessors);
}

/// The columns of `problem` in the order of its unique key, used by the look-up and the insert.
Statement problem_query(Connection& connection, std::string_view sql, const plan::ProblemKey& problem) {
  const plan::Features& f = problem.features;
  return connection.query(sql, problem.operation, problem.exact, problem.policy, f.n, f.m, f.k, f.nonzeros,
                          f.longest_row, f.row_variation, f.index);
}

plan::Features features_from(const Statement& row, int column) {
  return {.m = row.integer(column + 1),
          .k = row.integer(column + 2),
          .n = row.integer(column),
          .nonzeros = row.integer(column + 3),
          .longest_row = row.integer(column + 4),
          .row_variation = row.real(column + 5),
          .index = row.text(column + 6)};
}

plan::DeviceKey device_from(const Statement& row, int column) {
  return {.uuid = row.text(column),
          .name = row.text(column + 1),
          .architecture = row.text(column + 2),
          .multiprocessors = static_cast<int>(row.integer(column + 3)),
          .memory_bytes = row.integer(column + 4),
          .l2_bytes = row.integer(column + 5),
          .driver = row.text(column + 6)};
}

// The columns of each record, in the order in which the functions below read them; w, t, d and p are the tables.
constexpr const char* winner_columns =
    "w.family, w.config, w.code_digest, w.median_us, w.default_median_us, w.rounds, w.effort, w.library_version";
constexpr int winner_width = 8;
constexpr const char* trial_columns =
    "t.family, t.config, t.code_digest, t.is_default, t.status, t.reason, t.median_us, t.spread_us, t.rounds, "
    "t.registers, t.spill_bytes,"
    " t.shared_bytes, t.measured_at";
constexpr int trial_width = 13;
constexpr const char* feature_columns = "p.n, p.m, p.k, p.nonzeros, p.longest_row, p.row_variation, p.index_type";
constexpr int feature_width = 7;
constexpr int problem_width = feature_width + 3;
constexpr int device_width = 7;

/// Columns of a device; the driver is a column of the measurement.
std::string device_columns(const char* measured) {
  return fmt::format("d.uuid, d.name, d.architecture, d.multiprocessors, d.memory_bytes, d.l2_bytes, {}.driver",
                     measured);
}

std::string tables_of(const char* measured, const char* alias) {
  return fmt::format("problem p JOIN {} ON {}.problem = p.id JOIN device d ON d.id = {}.device", measured, alias,
                     alias);
}

plan::ProblemKey problem_from(const Statement& row, int column) {
  return {.operation = row.text(column + feature_width),
          .exact = row.text(column + feature_width + 1),
          .features = features_from(row, column),
          .policy = row.text(column + feature_width + 2)};
}

std::optional<plan::WinnerRecord> winner_from(const Statement& row, int column) {
  auto config = parse_field_map(row.text(column + 1));
  const auto effort = parse_effort(row.text(column + 6));
  if (!config || !effort) return std::nullopt;
  return plan::WinnerRecord{.family = row.text(column),
                            .config = *std::move(config),
                            .code_digest = row.text(column + 2),
                            .median_us = row.real(column + 3),
                            .default_median_us = row.optional_real(column + 4),
                            .rounds = static_cast<int>(row.integer(column + 5)),
                            .effort = *effort,
                            .library_version = row.text(column + 7)};
}

std::optional<plan::TrialRecord> trial_from(const Statement& row, int column) {
  auto config = parse_field_map(row.text(column + 1));
  if (!config) return std::nullopt;
  return plan::TrialRecord{.family = row.text(column),
                           .config = *std::move(config),
                           .code_digest = row.text(column + 2),
                           .is_default = row.integer(column + 3) != 0,
                           .status = row.text(column + 4),
                           .reason = row.text(column + 5),
                           .median_us = row.optional_real(column + 6),
                           .spread_us = row.optional_real(column + 7),
                           .rounds = static_cast<int>(row.integer(column + 8)),
                           .registers = static_cast<int>(row.integer(column + 9)),
                           .spill_bytes = row.integer(column + 10),
                           .shared_bytes = row.integer(column + 11),
                           .measured_at = row.integer(column + 12)};
}

}  // namespace

std::optional<Effort> parse_effort(std::string_view text) {
  for (const Effort effort : std::array{Effort::heuristic, Effort::cached, Effort::quick, Effort::full})
    if (text == vostok::name(effort)) return effort;
  return std::nullopt;
}

namespace {

/// Winners of problems of one kind whose features meet a condition; `values` replace its marks.
template <class... Values>
std::vector<plan::StoredWinner> winners_where(Connection& connection, const plan::ProblemKey& problem,
                                              const char* condition, const Values&... values) {
  Statement row = connection.query(
      fmt::format("SELECT {}, {}, {} FROM {} WHERE p.operation = ? AND p.exact = ? AND p.policy = ? AND {}",
                  winner_columns, device_columns("w"), feature_columns, tables_of("winner w", "w"), condition),
      problem.operation, problem.exact, problem.policy, values...);
  std::vector<plan::StoredWinner> found;
  while (row.step()) {
    auto winner = winner_from(row, 0);
    if (winner)
      found.push_back({.winner = *std::move(winner),
                       .device = device_from(row, winner_width),
                       .features = features_from(row, winner_width + device_width)});
  }
  return found;
}

}  // namespace

std::vector<plan::StoredWinner> winners_near(Connection& connection, const plan::ProblemKey& problem) {
  using Weights = plan::ProblemWeights;
  const auto n = plan::reach(problem.features.n, Weights::n);
  const auto m = plan::reach(problem.features.m, Weights::m);
  const auto k = plan::reach(problem.features.k, Weights::k);
  return winners_where(connection, problem, "p.n BETWEEN ? AND ? AND p.m BETWEEN ? AND ? AND p.k BETWEEN ? AND ?",
                       n.least, n.most, m.least, m.most, k.least, k.most);
}

std::vector<plan::StoredWinner> winners_of(Connection& connection, const plan::ProblemKey& problem) {
  const plan::Features& f = problem.features;
  return winners_where(connection, problem,
                       "p.n = ? AND p.m = ? AND p.k = ? AND p.nonzeros = ? AND p.longest_row = ? AND p.row_variation = "
                       "? AND p.index_type = ?",
                       f.n, f.m, f.k, f.nonzeros, f.longest_row, f.row_variation, f.index);
}

std::vector<WinnerRow> all_winners(Connection& connection) {
  Statement row =
      connection.query(fmt::format("SELECT {}, {}, {}, p.operation, p.exact, p.policy, w.decided_at FROM {}",
                                   winner_columns, device_columns("w"), feature_columns, tables_of("winner w", "w")));
  std::vector<WinnerRow> found;
  while (row.step()) {
    auto winner = winner_from(row, 0);
    if (!winner) continue;
    found.push_back({.problem = problem_from(row, winner_width + device_width),
                     .device = device_from(row, winner_width),
                     .winner = *std::move(winner),
                     .decided_at = row.integer(winner_width + device_width + problem_width)});
  }
  return found;
}

std::vector<plan::TrialRecord> trials_of(Connection& connection, const plan::ProblemKey& problem,
                                         const plan::DeviceKey& device) {
  std::vector<plan::TrialRecord> found;
  Statement problem_id = problem_query(connection, find_problem, problem);
  Statement device_id = device_query(connection, device);
  if (!problem_id.step() || !device_id.step()) return found;
  Statement row =
      connection.query(fmt::format("SELECT {} FROM trial t WHERE problem = ? AND device = ?", trial_columns),
                       problem_id.integer(0), device_id.integer(0));
  while (row.step())
    if (auto trial = trial_from(row, 0)) found.push_back(*std::move(trial));
  return found;
}

std::vector<TrialRow> all_trials(Connection& connection) {
  Statement row =
      connection.query(fmt::format("SELECT {}, {}, {}, p.operation, p.exact, p.policy FROM {}", trial_columns,
                                   device_columns("t"), feature_columns, tables_of("trial t", "t")));
  std::vector<TrialRow> found;
  while (row.step()) {
    auto trial = trial_from(row, 0);
    if (!trial) continue;
    found.push_back({.problem = problem_from(row, trial_width + device_width),
                     .device = device_from(row, trial_width),
                     .trial = *std::move(trial)});
  }
  return found;
}

std::int64_t device_row(Connection& connection, const plan::DeviceKey& device) {
  if (Statement known = device_query(connection, device); known.step()) return known.integer(0);
  connection.run(
      "INSERT INTO device(uuid, name, architecture, multiprocessors, memory_bytes, l2_bytes) VALUES(?, ?, ?, ?, ?, ?)",
      device.uuid, device.name, device.architecture, device.multiprocessors, device.memory_bytes, device.l2_bytes);
  return connection.last_row();
}

std::int64_t problem_row(Connection& connection, const plan::ProblemKey& problem) {
  if (Statement known = problem_query(connection, find_problem, problem); known.step()) return known.integer(0);
  problem_query(
      connection,
      "INSERT INTO problem(operation, exact, policy, n, m, k, nonzeros, longest_row, row_variation, index_type)"
      " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      problem)
      .step();
  return connection.last_row();
}

void store_trial(Connection& connection, const plan::ProblemKey& problem, const plan::DeviceKey& device,
                 const plan::TrialRecord& trial) {
  connection.run(
      "INSERT OR REPLACE INTO trial(problem, device, family, config, code_digest, is_default, status, reason, "
      "median_us, spread_us, rounds,"
      " registers, spill_bytes, shared_bytes, driver, measured_at) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?)",
      problem_row(connection, problem), device_row(connection, device), trial.family, to_text(trial.config),
      trial.code_digest, trial.is_default, trial.status, trial.reason, trial.median_us, trial.spread_us, trial.rounds,
      trial.registers, trial.spill_bytes, trial.shared_bytes, device.driver, trial.measured_at);
}

void store_winner(Connection& connection, const plan::ProblemKey& problem, const plan::DeviceKey& device,
                  const plan::WinnerRecord& winner, std::int64_t decided_at) {
  connection.run(
      "INSERT OR REPLACE INTO winner(problem, device, family, config, code_digest, median_us, default_median_us, "
      "rounds, effort,"
      " library_version, driver, decided_at) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      problem_row(connection, problem), device_row(connection, device), winner.family, to_text(winner.config),
      winner.code_digest, winner.median_us, winner.default_median_us, winner.rounds, vostok::name(winner.effort),
      winner.library_version, device.driver, decided_at);
}

}  // namespace vostok::cache
