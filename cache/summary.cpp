#include "cache/summary.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <system_error>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "cache/code_rows.hpp"
#include "cache/tuning_rows.hpp"

namespace vostok::cache {

namespace {

using Faults = std::vector<std::string>;

void complain(Faults& faults, std::int64_t rows, const char* what) {
  if (rows > 0) faults.push_back(fmt::format("{} {}", rows, what));
}

void check_tuning(Connection& connection, Faults& faults) {
  const char* lost = "(problem NOT IN (SELECT id FROM problem) OR device NOT IN (SELECT id FROM device))";
  const std::int64_t lost_trials = connection.number(fmt::format("SELECT count(*) FROM trial WHERE {}", lost));
  const std::int64_t lost_winners = connection.number(fmt::format("SELECT count(*) FROM winner WHERE {}", lost));
  complain(faults, lost_trials, "trials refer to a problem or a device that is not there");
  complain(faults, lost_winners, "winners refer to a problem or a device that is not there");
  complain(faults, row_count(connection, "trial") - lost_trials - std::ssize(all_trials(connection)),
           "trials cannot be read");
  complain(faults, row_count(connection, "winner") - lost_winners - std::ssize(all_winners(connection)),
           "winners cannot be read");
  complain(faults, row_count(connection, "errata") - std::ssize(all_errata(connection)), "errata cannot be read");
  complain(faults, connection.number("SELECT count(*) FROM winner WHERE NOT (median_us > 0 AND median_us < 9e99)"),
           "winners have no time that can be");
  complain(faults,
           connection.number("SELECT count(*) FROM trial WHERE status = 'measured' AND NOT coalesce(median_us > 0 AND "
                             "median_us < 9e99, 0)"),
           "measured trials have no time that can be");
}

void check_code(Connection& connection, Faults& faults) {
  for (const std::string& key : code_keys(connection)) {
    const auto row = code_row(connection, key);
    if (row && !row->is_intact)
      faults.push_back(fmt::format("the kernel {} is damaged: its digest does not match", printable(key)));
  }
}

/// If keys are given, opens exactly the bytes whose signature was checked, as a layer does.
std::unique_ptr<Connection> open_signed(const std::filesystem::path& path, const std::vector<PublicKey>& trusted,
                                        Faults& faults) {
  try {
    if (!trusted.empty()) return std::make_unique<Connection>(signed_bytes(path, trusted), path.string());
  } catch (const Error& error) {
    faults.emplace_back(error.what());
  }
  return std::make_unique<Connection>(path, Access::read_only, tool_lock_timeout_ms);
}

}  // namespace

FileSummary summarise(const std::filesystem::path& path) {
  Connection connection(path, Access::read_only, tool_lock_timeout_ms);
  FileSummary summary{.path = path, .content = require_cache_file(connection), .signer = signer_of(path)};
  std::error_code ignored;
  summary.bytes = static_cast<std::int64_t>(std::filesystem::file_size(path, ignored));
  if (summary.content == Content::code) {
    summary.kernels = row_count(connection, "code");
    return summary;
  }
  summary.devices = row_count(connection, "device");
  summary.problems = row_count(connection, "problem");
  summary.winners = row_count(connection, "winner");
  summary.trials = row_count(connection, "trial");
  summary.errata = row_count(connection, "errata");
  return summary;
}

std::vector<std::string> faults_of(const std::filesystem::path& path, const std::vector<PublicKey>& trusted) {
  Faults faults;
  try {
    const auto opened = open_signed(path, trusted, faults);
    Connection& connection = *opened;
    const Content content = require_cache_file(connection);
    constexpr int most_faults = 10;
    std::ranges::move(page_faults(connection, most_faults), std::back_inserter(faults));
    if (content == Content::tuning) check_tuning(connection, faults);
    else check_code(connection, faults);
  } catch (const Error& error) {
    faults.emplace_back(error.what());
  }
  return faults;
}

}  // namespace vostok::cache
