#include "cache/tuning_rows.hpp"

#include <array>

#include "base/field_map.hpp"

namespace vostok::cache {

namespace {

constexpr const char* find_device = "SELECT id FROM device WHERE uuid = ? AND name = ? AND architecture = ? AND multiprocessors = ?";

constexpr const char* find_problem =
    "SELECT id FROM problem WHERE operation = ? AND exact = ? AND policy = ? AND n = ? AND m = ? AND k = ? AND nonzeros = ? AND longest_row = ?"
    " AND row_variation = ? AND index_type = ?";

Statement device_query(Connection& connection, const plan::DeviceKey& device) {
  return connection.query(find_device, device.uuid, device.name, device.architecture, device.multiprocessors);
}

/// The columns of `problem` in the order of its unique key, for the look-up and for the insert alike.
Statement problem_query(Connection& connection, std::string_view sql, const plan::ProblemKey& problem) {
  const plan::Features& f = problem.features;
  return connection.query(sql, problem.operation, problem.exact, problem.policy, f.n, f.m, f.k, f.nonzeros, f.longest_row, f.row_variation, f.index);
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

}  // namespace

std::optional<Effort> parse_effort(std::string_view text) {
  for (const Effort effort : std::array{Effort::heuristic, Effort::cached, Effort::quick, Effort::full})
    if (text == vostok::name(effort)) return effort;
  return std::nullopt;
}

std::vector<plan::StoredWinner> winners_near(Connection& connection, const plan::ProblemKey& problem) {
  using Weights = plan::ProblemWeights;
  const auto n = plan::reach(problem.features.n, Weights::n);
  const auto m = plan::reach(problem.features.m, Weights::m);
  const auto k = plan::reach(problem.features.k, Weights::k);
  Statement row = connection.query(
      "SELECT w.family, w.config, w.code_digest, w.median_us, w.default_median_us, w.rounds, w.effort, w.library_version,"
      " d.uuid, d.name, d.architecture, d.multiprocessors, d.memory_bytes, d.l2_bytes, w.driver,"
      " p.n, p.m, p.k, p.nonzeros, p.longest_row, p.row_variation, p.index_type"
      " FROM problem p JOIN winner w ON w.problem = p.id JOIN device d ON d.id = w.device"
      " WHERE p.operation = ? AND p.exact = ? AND p.policy = ? AND p.n BETWEEN ? AND ? AND p.m BETWEEN ? AND ? AND p.k BETWEEN ? AND ?",
      problem.operation, problem.exact, problem.policy, n.least, n.most, m.least, m.most, k.least, k.most);
  std::vector<plan::StoredWinner> found;
  while (row.step()) {
    auto config = parse_field_map(row.text(1));
    const auto effort = parse_effort(row.text(6));
    if (!config || !effort) continue;
    found.push_back({.winner = {.family = row.text(0),
                                .config = std::move(*config),
                                .code_digest = row.text(2),
                                .median_us = row.real(3),
                                .default_median_us = row.optional_real(4),
                                .rounds = static_cast<int>(row.integer(5)),
                                .effort = *effort,
                                .library_version = row.text(7)},
                     .device = device_from(row, 8),
                     .features = features_from(row, 15)});
  }
  return found;
}

std::vector<plan::TrialRecord> trials_of(Connection& connection, const plan::ProblemKey& problem, const plan::DeviceKey& device) {
  std::vector<plan::TrialRecord> found;
  Statement problem_id = problem_query(connection, find_problem, problem);
  Statement device_id = device_query(connection, device);
  if (!problem_id.step() || !device_id.step()) return found;
  Statement row = connection.query(
      "SELECT family, config, code_digest, is_default, status, reason, median_us, spread_us, rounds, registers, spill_bytes, shared_bytes, "
      "measured_at"
      " FROM trial WHERE problem = ? AND device = ?",
      problem_id.integer(0), device_id.integer(0));
  while (row.step()) {
    auto config = parse_field_map(row.text(1));
    if (!config) continue;
    found.push_back({.family = row.text(0),
                     .config = std::move(*config),
                     .code_digest = row.text(2),
                     .is_default = row.integer(3) != 0,
                     .status = row.text(4),
                     .reason = row.text(5),
                     .median_us = row.optional_real(6),
                     .spread_us = row.optional_real(7),
                     .rounds = static_cast<int>(row.integer(8)),
                     .registers = static_cast<int>(row.integer(9)),
                     .spill_bytes = row.integer(10),
                     .shared_bytes = row.integer(11),
                     .measured_at = row.integer(12)});
  }
  return found;
}

std::int64_t device_row(Connection& connection, const plan::DeviceKey& device) {
  if (Statement known = device_query(connection, device); known.step()) return known.integer(0);
  connection.run("INSERT INTO device(uuid, name, architecture, multiprocessors, memory_bytes, l2_bytes) VALUES(?, ?, ?, ?, ?, ?)", device.uuid,
                 device.name, device.architecture, device.multiprocessors, device.memory_bytes, device.l2_bytes);
  return connection.last_row();
}

std::int64_t problem_row(Connection& connection, const plan::ProblemKey& problem) {
  if (Statement known = problem_query(connection, find_problem, problem); known.step()) return known.integer(0);
  problem_query(connection,
                "INSERT INTO problem(operation, exact, policy, n, m, k, nonzeros, longest_row, row_variation, index_type)"
                " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                problem)
      .step();
  return connection.last_row();
}

void store_trial(Connection& connection, const plan::ProblemKey& problem, const plan::DeviceKey& device, const plan::TrialRecord& trial) {
  connection.run(
      "INSERT OR REPLACE INTO trial(problem, device, family, config, code_digest, is_default, status, reason, median_us, spread_us, rounds,"
      " registers, spill_bytes, shared_bytes, driver, measured_at) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      problem_row(connection, problem), device_row(connection, device), trial.family, to_text(trial.config), trial.code_digest, trial.is_default,
      trial.status, trial.reason, trial.median_us, trial.spread_us, trial.rounds, trial.registers, trial.spill_bytes, trial.shared_bytes,
      device.driver, trial.measured_at);
}

void store_winner(Connection& connection, const plan::ProblemKey& problem, const plan::DeviceKey& device, const plan::WinnerRecord& winner,
                  std::int64_t decided_at) {
  connection.run(
      "INSERT OR REPLACE INTO winner(problem, device, family, config, code_digest, median_us, default_median_us, rounds, effort,"
      " library_version, driver, decided_at) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      problem_row(connection, problem), device_row(connection, device), winner.family, to_text(winner.config), winner.code_digest, winner.median_us,
      winner.default_median_us, winner.rounds, vostok::name(winner.effort), winner.library_version, device.driver, decided_at);
}

}  // namespace vostok::cache
