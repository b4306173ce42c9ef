#include "cache/summary.hpp"

#include <memory>
#include <system_error>

#include "base/text.hpp"
#include "cache/code_rows.hpp"
#include "cache/tuning_rows.hpp"

namespace vostok::cache {

namespace {

using Faults = std::vector<std::string>;

/// The content that the file says it has, with a schema that is known.
Content known_content(Connection& connection, const std::filesystem::path& path) {
  const auto content = content_of(connection);
  if (!content) fail(ErrorCode::io_failure, "cannot use {}: it is no cache file of vostok", path.string());
  check_schema(connection, *content);
  return *content;
}

std::int64_t count(Connection& connection, const char* table) { return connection.number(fmt::format("SELECT count(*) FROM {}", table)); }

void check_pages(Connection& connection, Faults& faults) {
  Statement check = connection.query("PRAGMA integrity_check(10)");
  while (check.step())
    if (check.text(0) != "ok") faults.push_back(check.text(0));
}

void complain(Faults& faults, std::int64_t rows, const char* what) {
  if (rows > 0) faults.push_back(fmt::format("{} {}", rows, what));
}

void check_tuning(Connection& connection, Faults& faults) {
  const char* lost = "(problem NOT IN (SELECT id FROM problem) OR device NOT IN (SELECT id FROM device))";
  const std::int64_t lost_trials = connection.number(fmt::format("SELECT count(*) FROM trial WHERE {}", lost));
  const std::int64_t lost_winners = connection.number(fmt::format("SELECT count(*) FROM winner WHERE {}", lost));
  complain(faults, lost_trials, "trials refer to a problem or a device that is not there");
  complain(faults, lost_winners, "winners refer to a problem or a device that is not there");
  complain(faults, count(connection, "trial") - lost_trials - std::ssize(all_trials(connection)), "trials cannot be read");
  complain(faults, count(connection, "winner") - lost_winners - std::ssize(all_winners(connection)), "winners cannot be read");
  complain(faults, count(connection, "errata") - std::ssize(all_errata(connection)), "errata cannot be read");
  complain(faults, connection.number("SELECT count(*) FROM winner WHERE NOT (median_us > 0 AND median_us < 9e99)"),
           "winners have no time that can be");
  complain(faults, connection.number("SELECT count(*) FROM trial WHERE status = 'measured' AND NOT coalesce(median_us > 0 AND median_us < 9e99, 0)"),
           "measured trials have no time that can be");
}

void check_code(Connection& connection, Faults& faults) {
  for (const std::string& key : code_keys(connection)) {
    const auto row = code_row(connection, key);
    if (row && !row->is_intact) faults.push_back(fmt::format("the kernel {} is damaged: its digest does not match", key));
  }
}

/// Where keys are given, those bytes whose signature was checked, as a layer reads them.
std::unique_ptr<Connection> open_signed(const std::filesystem::path& path, const std::vector<PublicKey>& trusted, Faults& faults) {
  try {
    if (!trusted.empty()) return std::make_unique<Connection>(signed_bytes(path, trusted));
  } catch (const Error& error) {
    faults.emplace_back(error.what());
  }
  return std::make_unique<Connection>(path, Access::read_only, tool_lock_timeout_ms);
}

}  // namespace

FileSummary summarise(const std::filesystem::path& path) {
  Connection connection(path, Access::read_only, tool_lock_timeout_ms);
  FileSummary summary{.path = path, .content = known_content(connection, path), .signer = signer_of(path)};
  std::error_code ignored;
  summary.bytes = static_cast<std::int64_t>(std::filesystem::file_size(path, ignored));
  if (summary.content == Content::code) {
    summary.kernels = count(connection, "code");
    return summary;
  }
  summary.devices = count(connection, "device");
  summary.problems = count(connection, "problem");
  summary.winners = count(connection, "winner");
  summary.trials = count(connection, "trial");
  summary.errata = count(connection, "errata");
  return summary;
}

std::vector<std::string> faults_of(const std::filesystem::path& path, const std::vector<PublicKey>& trusted) {
  Faults faults;
  try {
    const auto opened = open_signed(path, trusted, faults);
    Connection& connection = *opened;
    const Content content = known_content(connection, path);
    check_pages(connection, faults);
    if (content == Content::tuning) check_tuning(connection, faults);
    else check_code(connection, faults);
  } catch (const Error& error) {
    faults.emplace_back(error.what());
  }
  return faults;
}

}  // namespace vostok::cache
