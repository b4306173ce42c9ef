// Measured times survive whatever locale the application has set, with all their digits.
#include <doctest/doctest.h>

#include <cstdio>
#include <random>
#include <sstream>
#include <string>

#include "cache/dump.hpp"
#include "cache/merge.hpp"
#include "cache/prune.hpp"
#include "cache/summary.hpp"
#include "unit/cache/rows.hpp"
#include "unit/decimal_comma.hpp"

using namespace vostok;
using namespace vostok::cache;
using namespace vostok::cache::testing;

namespace {

constexpr unsigned seed = 14;

/// Times and variations with all digits that a double has, sizes past a thousand.
TuningContent sample_content() {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> times(1, 5000);
  TuningContent content;
  for (int i = 0; i < 40; ++i) {
    TrialRow trial = trial_row(std::to_string(1000 + i), times(random));
    trial.trial.spread_us = times(random) / 1000;
    trial.problem.features.row_variation = times(random) / 10000;
    trial.problem.features.nonzeros = 1234567 + i;
    WinnerRow winner = winner_row(std::to_string(1000 + i));
    winner.problem = trial.problem;
    winner.winner.median_us = *trial.trial.median_us;
    winner.winner.default_median_us = times(random);
    content.trials.push_back(std::move(trial));
    content.winners.push_back(std::move(winner));
  }
  return content;
}

/// Stores, dumps, loads, merges, exports and imports the rows. Each text that this gives, which are to be one and the
/// same.
std::vector<std::string> round_trips(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const TuningContent content = sample_content();
  write_content(content, folder / "tuning.db");
  const std::string text = dump(folder / "tuning.db");
  load(text, folder / "loaded.db");
  write_content(merged(read_content(folder / "loaded.db"), content), folder / "merged.db");
  prune(folder / "merged.db", {.stale = true}, 1700000000);
  Opening from(in_folder(folder / "a"));
  from.opened.exchange->import_rows(text, sample_device("GPU-other"));
  Opening to(in_folder(folder / "b"));
  to.opened.exchange->import_rows(from.opened.exchange->export_rows(), sample_device("GPU-other"));
  Opening one_by_one(in_folder(folder / "c"));
  for (const TrialRow& row : content.trials) one_by_one.tuning().add_trial(row.problem, row.device, row.trial);
  CHECK(one_by_one.tuning().trials(content.trials[7].problem, content.trials[7].device).at(0).median_us ==
        content.trials[7].trial.median_us);
  CHECK(faults_of(folder / "merged.db", {}).empty());
  return {text,
          content_text(parse_content(text)),
          dump(folder / "loaded.db"),
          dump(folder / "merged.db"),
          from.opened.exchange->export_rows(),
          to.opened.exchange->export_rows()};
}

}  // namespace

TEST_CASE(
    "a locale with a decimal comma changes no digit that is stored, dumped, loaded, merged, exported or imported") {
  CAPTURE(seed);
  const TemporaryFolder folder;
  const std::vector<std::string> plain = round_trips(folder / "plain");
  const vostok::test::DecimalComma locale;
  if (!locale.in_c())
    MESSAGE("skipped: the part with a C locale, of which none with a decimal comma is there or can be made");
  else {
    char printed[8];
    std::snprintf(printed, sizeof printed, "%.1f", 1.5);
    REQUIRE(std::string(printed) == "1,5");
  }
  std::ostringstream stream;
  stream << 1234.5;
  REQUIRE(stream.str() == "1.234,5");
  CHECK(round_trips(folder / "comma") == plain);
  for (const std::string& text : plain) CHECK((text == plain.front()));
}
