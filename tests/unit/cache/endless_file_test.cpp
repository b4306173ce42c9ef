// Small files whose reading would take for ever, or all memory: every use of one ends, and says so.
#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <string>

#include "cache/dump.hpp"
#include "cache/errata.hpp"
#include "cache/prune.hpp"
#include "cache/summary.hpp"
#include "cache/tuning_content.hpp"
#include "contains.hpp"
#include "unit/cache/crafted.hpp"

using namespace vostok;
using namespace vostok::cache;
using namespace vostok::cache::testing;
using test::contains;

namespace {

void fill(const std::filesystem::path& folder) {
  Opening opening(in_folder(folder));
  opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner());
  opening.tuning().add_trial(sample_problem(), sample_device(), sample_trial());
  opening.code().put(sample_entry(), sample_image());
}

std::string what_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE(
    "pages that stand under each other without end: every use of the file ends, and leaves a foreign one as it is") {
  for (const std::string table :
       {"device", "problem", "trial", "trial_by_code", "winner", "errata", "code", "code_by_use"}) {
    CAPTURE(table);
    const bool is_code = table.starts_with("code");
    const TemporaryFolder folder;
    fill(folder / "c");
    {
      Connection connection(folder / "c" / "tuning.db", Access::read_write, 1000);
      store_erratum(connection, {.id = "E1", .operation = "none"});
    }
    const auto file = folder / "c" / (is_code ? "code.db" : "tuning.db");
    make_endless(file, table);
    const std::string before = contents(file);
    CHECK(before.size() < 400000);
    {
      auto options = in_folder(folder / "own");
      options.shipped = folder / "c";
      Opening opening(options);
      opening.tuning().find(sample_problem(), sample_device());
      opening.tuning().trials(sample_problem(), sample_device());
      opening.tuning().standing("d1");
      opening.code().find("key");
      opening.opened.exchange->count_rows(opening.opened.layers);
      CHECK(*opening.warnings <= 1);
    }
    CHECK_FALSE(faults_of(file, {}).empty());
    CHECK(contains(what_of([&] { prune(file, {.older_than_seconds = 0}, 2000000000); }), file.string()));
    CHECK(contents(file) == before);
    const std::string said = what_of([&] { summarise(file); });
    if (!said.empty()) CHECK(contains(said, file.string()));
    if (!is_code) {
      what_of([&] { read_content(file); });
      what_of([&] { dump(file); });
      what_of([&] { load("vostok tuning 1\n", file); });
    }
    Opening own(in_folder(folder / "c"));
    own.tuning().find(sample_problem(), sample_device());
    own.tuning().set_winner(sample_problem(), sample_device("GPU-other"), sample_winner());
    own.code().find("key");
    own.code().put(sample_entry("second"), sample_image());
    CHECK(own.code().find("second").has_value());
    CHECK(*own.warnings <= 1);
  }
}

TEST_CASE("a scan without end ends with an error that names the file and how long it took") {
  const TemporaryFolder folder;
  fill(folder / "c");
  const auto tuning = folder / "c" / "tuning.db";
  make_endless(tuning, "winner");
  const std::string said = what_of([&] { summarise(tuning); });
  INFO(said);
  CHECK(contains(said, tuning.string()));
  CHECK(contains(said, "there is no end to what it holds"));
  CHECK(contains(said, " s "));
  CHECK(contains(what_of([&] { read_content(tuning); }), tuning.string()));
  Opening opening(in_folder(folder / "c"));
  CHECK(opening.tuning().find(sample_problem(), sample_device()).empty());
  CHECK(entries_like(folder / "c", "tuning.db.damaged-") == 1);
  opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner("16"));
  CHECK(tile_found(opening) == "16");
}

TEST_CASE("a statement past its time ends with an error that names the file and the time") {
  Connection connection(":memory:", Access::read_write, 0);
  constexpr const char* endless =
      "WITH RECURSIVE more(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM more) SELECT count(*) FROM more";
  connection.limit_statements(std::chrono::milliseconds(1));
  const std::string said = what_of([&] { connection.number(endless); });
  INFO(said);
  CHECK(contains(said, "a database in memory: one statement took over 0."));
  connection.limit_statements(std::chrono::seconds(60));
  CHECK(connection.number("SELECT 7") == 7);
}

TEST_CASE("a text longer than any that is stored is not read: it is damage, and one to be stored is refused") {
  const TemporaryFolder folder;
  fill(folder / "c");
  const auto tuning = folder / "c" / "tuning.db";
  const std::string too_long(3 << 20, 'x');
  SUBCASE("in a file") {
    craft(tuning, "UPDATE winner SET family = hex(zeroblob(1600000))");
    CHECK(contains(what_of([&] { read_content(tuning); }), tuning.string() + ": string or blob too big"));
    CHECK(contains(what_of([&] { dump(tuning); }), tuning.string()));
    auto options = in_folder(folder / "own");
    options.shipped = folder / "c";
    Opening opening(options);
    CHECK(tile_found(opening).empty());
    CHECK(*opening.warnings == 1);
    CHECK(opening.said("is not used: malformed"));
  }
  SUBCASE("to be stored") {
    Opening opening(in_folder(folder / "c"));
    auto trial = sample_trial("2");
    trial.reason = too_long;
    opening.tuning().add_trial(sample_problem(), sample_device(), trial);
    auto problem = sample_problem();
    problem.exact = too_long;
    opening.tuning().add_trial(problem, sample_device(), sample_trial("2"));
    CHECK(opening.tuning().trials(problem, sample_device()).empty());
    CHECK(*opening.warnings >= 1);
    CHECK(entries_like(folder / "c", "damaged") == 0);
    CHECK(opening.said("a row was not stored"));
    CHECK(opening.tuning().trials(sample_problem(), sample_device()).size() == 1);
    CHECK(tile_found(opening) == "8");
  }
}

TEST_CASE("the longest text that is stored is read back") {
  const TemporaryFolder folder;
  Opening opening(in_folder(folder / "c"));
  auto trial = sample_trial("2");
  trial.reason = std::string(500000, 'x');
  for (int i = 0; i < 200; ++i) {
    trial.config["tile_rows"] = std::to_string(i);
    trial.reason.resize(i < 190 ? 1000 : 500000, 'x');
    opening.tuning().add_trial(sample_problem(), sample_device(), trial);
  }
  CHECK(opening.tuning().trials(sample_problem(), sample_device()).size() == 200);
  CHECK(read_content(folder / "c" / "tuning.db").trials.size() == 200);
  CHECK(*opening.warnings == 0);
}
