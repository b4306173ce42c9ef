#include "cache/tuning_content.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/text.hpp"
#include "cache/dump.hpp"
#include "cache/replace_file.hpp"
#include "cache/schema.hpp"
#include "cache/tuning_rows.hpp"
#include "sparse/text_file.hpp"

namespace vostok::cache {

namespace {

constexpr const char* in_memory = ":memory:";

FieldMap problem_fields(const plan::ProblemKey& problem) {
  const plan::Features& f = problem.features;
  return {{"operation", problem.operation},
          {"exact", problem.exact},
          {"policy", problem.policy},
          {"n", std::to_string(f.n)},
          {"m", std::to_string(f.m)},
          {"k", std::to_string(f.k)},
          {"nonzeros", std::to_string(f.nonzeros)},
          {"longest_row", std::to_string(f.longest_row)},
          {"row_variation", fmt::format("{}", f.row_variation)},
          {"index_type", f.index}};
}

/// The fields that identify a device in the file; the others may differ slightly between drivers.
FieldMap device_fields(const plan::DeviceKey& device) {
  return {{"uuid", device.uuid},
          {"device", device.name},
          {"architecture", device.architecture},
          {"multiprocessors", std::to_string(device.multiprocessors)}};
}

/// If two drivers report different sizes of one device, the larger counts, so that the order of rows does not matter.
void agree_on_devices(TuningContent& content) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> sizes;
  const auto for_each_device = [&](const auto& visit) {
    for (TrialRow& row : content.trials)
      visit(row.device);  // NOLINT(misc-const-correctness): one of the visits changes it
    for (WinnerRow& row : content.winners) visit(row.device);  // NOLINT(misc-const-correctness): likewise
  };
  for_each_device([&](const plan::DeviceKey& device) {
    auto& [memory_bytes, l2_bytes] = sizes[to_text(device_fields(device))];
    memory_bytes = std::max(memory_bytes, device.memory_bytes);
    l2_bytes = std::max(l2_bytes, device.l2_bytes);
  });
  for_each_device([&](plan::DeviceKey& device) {
    std::tie(device.memory_bytes, device.l2_bytes) = sizes[to_text(device_fields(device))];
  });
}

template <class Row>
std::vector<const Row*> in_order(const std::vector<Row>& rows) {
  std::vector<std::pair<std::string, const Row*>> named;
  named.reserve(rows.size());
  for (const Row& row : rows) named.emplace_back(row_name(row), &row);
  std::stable_sort(named.begin(), named.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const Row*> sorted;
  sorted.reserve(rows.size());
  for (const auto& [name, row] : named) sorted.push_back(row);
  return sorted;
}

bool is_database(const std::filesystem::path& path) {
  constexpr std::string_view magic = "SQLite format 3";
  std::string start(magic.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  return file && start == magic;
}

/// Writes the content into an empty file.
void make_content(TuningContent content, Connection& connection) {
  make_schema(connection, Content::tuning);
  Transaction transaction(connection);
  store_rows(std::move(content), connection);
  transaction.commit();
}

}  // namespace

std::string subject_name(const plan::ProblemKey& problem, const plan::DeviceKey& device) {
  return to_text(problem_fields(problem)) + " " + to_text(device_fields(device));
}

std::string row_name(const TrialRow& row) {
  return subject_name(row.problem, row.device) + " " +
         to_text({{"family", row.trial.family},
                  {"config", to_text(row.trial.config)},
                  {"code_digest", row.trial.code_digest}});
}

std::string row_name(const WinnerRow& row) { return subject_name(row.problem, row.device); }

TuningContent all_rows(Connection& connection) {
  return {.trials = all_trials(connection), .winners = all_winners(connection), .errata = all_errata(connection)};
}

TuningContent read_content(const std::filesystem::path& path) {
  if (is_database(path)) {
    Connection connection(path, Access::read_only, tool_lock_timeout_ms);
    check_schema(connection, Content::tuning);
    const Transaction one_state(connection, Transaction::Lock::shared);
    return all_rows(connection);
  }
  return parse_content(sparse::read_bytes(path));
}

TuningContent parse_content(std::string_view text) {
  Connection connection(in_memory, Access::read_write, tool_lock_timeout_ms);
  load(text, connection);
  return all_rows(connection);
}

std::string content_text(TuningContent content) {
  Connection connection(in_memory, Access::read_write, tool_lock_timeout_ms);
  make_content(std::move(content), connection);
  return dump(connection);
}

void store_rows(TuningContent content, Connection& connection) {
  agree_on_devices(content);
  for (const TrialRow* row : in_order(content.trials)) store_trial(connection, row->problem, row->device, row->trial);
  for (const WinnerRow* row : in_order(content.winners))
    store_winner(connection, row->problem, row->device, row->winner, row->decided_at);
  std::sort(content.errata.begin(), content.errata.end(),
            [](const Erratum& a, const Erratum& b) { return a.id < b.id; });
  for (const Erratum& erratum : content.errata) store_erratum(connection, erratum);
}

void write_content(TuningContent content, const std::filesystem::path& path) {
  replace_file(path, [&](const std::filesystem::path& fresh) {
    Connection connection(fresh, Access::read_write, tool_lock_timeout_ms);
    make_content(std::move(content), connection);
  });
}

}  // namespace vostok::cache
