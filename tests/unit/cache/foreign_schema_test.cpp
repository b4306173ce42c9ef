// A cache file brings rows and nothing else: views, triggers and columns of someone else's making never run.
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "cache/dump.hpp"
#include "cache/merge.hpp"
#include "cache/prune.hpp"
#include "cache/summary.hpp"
#include "cache/tuning_content.hpp"
#include "unit/cache/crafted.hpp"

using namespace vostok;
using namespace vostok::cache;
using namespace vostok::cache::testing;

namespace {

constexpr const char* endless = "WITH RECURSIVE more(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM more) SELECT ";

/// What a file may hold that the library would not have put there.
struct Craft {
  std::string what;
  Content content;
  std::string sql;
  std::string said;
};

std::vector<Craft> crafts() {
  const std::string all_of_winner =
      "x AS problem, 1 AS device, 'f' AS family, '' AS config, '' AS code_digest, 1.0 AS median_us, 1.0 AS "
      "default_median_us, 1 AS rounds, 'full' AS effort, '' AS library_version, '' AS driver, 1 AS decided_at FROM "
      "more";
  const std::string all_of_code =
      "'k' AS key, '' AS family, '' AS expression, '' AS architecture, '' AS compiler, '' AS symbol, 1 AS registers, 1 "
      "AS "
      "spill_bytes, 1 AS stack_bytes, 1 AS shared_bytes, '' AS warnings, '' AS digest, 1 AS size, 1 AS last_use, x'' "
      "AS "
      "binary FROM more";
  const std::string many = "INSERT INTO errata SELECT hex(randomblob(500)), '', '', '', '', '', '', '', '', 1 FROM (" +
                           std::string(endless) + "x FROM more);";
  return {
      {"a view in the place of a table", Content::tuning,
       std::string("DROP TABLE winner; CREATE VIEW winner AS ") + endless + all_of_winner, "view \"winner\""},
      {"a view in the place of the kernels", Content::code,
       std::string("DROP TABLE code; CREATE VIEW code AS ") + endless + all_of_code, "view \"code\""},
      {"a view beside the tables", Content::tuning, "CREATE VIEW other AS SELECT 1", "view \"other\""},
      {"a view that SQLite takes for its statistics", Content::tuning,
       std::string("INSERT INTO sqlite_master VALUES('view', 'sqlite_stat1', 'sqlite_stat1', 0, 'CREATE VIEW "
                   "sqlite_stat1 AS ") +
           endless + "x AS tbl, x AS idx, x AS stat FROM more')",
       "view \"sqlite_stat1\""},
      {"a trigger on what is stored", Content::tuning,
       "CREATE TRIGGER more AFTER INSERT ON winner BEGIN " + many + " END", "trigger \"more\""},
      {"a trigger on what is removed", Content::tuning,
       "CREATE TRIGGER more AFTER DELETE ON trial BEGIN " + many + " END", "trigger \"more\""},
      {"a trigger on kernels", Content::code,
       "CREATE TRIGGER more BEFORE DELETE ON code BEGIN SELECT raise(IGNORE); END", "trigger \"more\""},
      {"another table", Content::tuning, "CREATE TABLE other(x)", "table \"other\""},
      {"a virtual table", Content::tuning,
       "INSERT INTO sqlite_master VALUES('table', 'other', 'other', 0, 'CREATE VIRTUAL TABLE other USING "
       "absent_module(x)')",
       "table \"other\""},
      {"an index on an expression", Content::tuning, "CREATE INDEX other ON winner(length(config))", "index \"other\""},
      {"an index that is not what its name says", Content::tuning,
       "DROP INDEX trial_by_code; CREATE INDEX trial_by_code ON trial(abs(rounds))", "index \"trial_by_code\""},
      {"a check", Content::tuning,
       remade("winner", "rounds INTEGER NOT NULL", "rounds INTEGER NOT NULL CHECK(rounds > 0)"), "table \"winner\""},
      {"a default", Content::tuning,
       remade("winner", "driver TEXT NOT NULL", "driver TEXT NOT NULL DEFAULT (hex(zeroblob(9999)))"),
       "table \"winner\""},
      {"a generated column", Content::tuning,
       remade("errata", "reason TEXT NOT NULL", "reason TEXT NOT NULL AS (hex(zeroblob(99999999)))"),
       "table \"errata\""},
      {"another order of columns", Content::code, remade("code", "warnings TEXT NOT NULL,", "warnings TEXT,"),
       "table \"code\""},
      {"a table that is missing", Content::tuning, "DROP TABLE errata", "table \"errata\" is missing"},
      {"no tables at all", Content::code, "DROP TABLE code", "table \"code\" is missing"},
      {"a column that is missing", Content::code, "ALTER TABLE code DROP COLUMN warnings", "table \"code\""},
      {"a name that would turn the terminal's colours", Content::tuning, "CREATE TABLE \"\x1b[31mred\"(x)",
       R"(table "\x1b[31mred")"},
  };
}

/// A folder with a choice, a trial and a kernel in it, and one of the two files as crafted.
std::filesystem::path crafted_file(const std::filesystem::path& folder, const Craft& craft_of) {
  {
    Opening opening(in_folder(folder));
    opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner());
    opening.tuning().add_trial(sample_problem(), sample_device(), sample_trial());
    opening.code().put(sample_entry(), sample_image());
  }
  const auto file = folder / file_name(craft_of.content);
  craft(file, craft_of.sql);
  return file;
}

void check_refused(const std::filesystem::path& file, const std::string& said, const std::function<void()>& command) {
  try {
    command();
    FAIL_CHECK("not refused");
  } catch (const Error& error) {
    INFO(std::string(error.what()));
    CHECK(error.code() == ErrorCode::io_failure);
    CHECK(std::string(error.what()).find(said) != std::string::npos);
    CHECK(std::string(error.what()).find(file.string()) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("a layer with more than the library's tables is not used, and left as it is") {
  for (const Craft& craft_of : crafts()) {
    CAPTURE(craft_of.what);
    const TemporaryFolder folder;
    const auto file = crafted_file(folder / "foreign", craft_of);
    const std::string before = contents(file);
    const auto check_unused = [&](const CacheOptions& options) {
      Opening opening(options);
      opening.opened.exchange->count_rows(opening.opened.layers);
      CHECK(*opening.warnings == 1);
      CHECK(opening.said(file.string() + " is not used"));
      CHECK(opening.said(craft_of.said));
      CHECK(tile_found(opening) == (craft_of.content == Content::tuning ? "" : "8"));
      CHECK(opening.code().find("key").has_value() == (craft_of.content == Content::tuning));
    };
    auto options = in_folder(folder / "own");
    options.read_only = {folder / "foreign"};
    check_unused(options);
    options.read_only = {};
    options.shipped = folder / "foreign";
    check_unused(options);
    CHECK(contents(file) == before);
    CHECK(entries_like(folder / "foreign", "damaged") == 0);
  }
}

TEST_CASE("the user's own file with more than the library's tables is set aside as it is, and made anew") {
  for (const Craft& craft_of : crafts()) {
    CAPTURE(craft_of.what);
    const TemporaryFolder folder;
    const auto file = crafted_file(folder / "own", craft_of);
    const std::string before = contents(file);
    Opening opening(in_folder(folder / "own"));
    CHECK(*opening.warnings == 1);
    CHECK(opening.said("malformed: set aside"));
    for (const auto& entry : std::filesystem::directory_iterator(folder / "own"))
      if (entry.path().string().find("damaged") != std::string::npos) CHECK(contents(entry.path()) == before);
    CHECK(entries_like(folder / "own", "damaged") == 1);
    opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner("16"));
    opening.code().put(sample_entry("new"), sample_image());
    Opening again(in_folder(folder / "own"));
    CHECK(tile_found(again) == "16");
    CHECK(again.code().find("new").has_value());
    CHECK(*again.warnings == 0);
  }
}

TEST_CASE("every command refuses a file with more than the library's tables, names it, and leaves it as it is") {
  for (const Craft& craft_of : crafts()) {
    CAPTURE(craft_of.what);
    const TemporaryFolder folder;
    const auto file = crafted_file(folder / "foreign", craft_of);
    const std::string before = contents(file);
    check_refused(file, craft_of.said, [&] { summarise(file); });
    check_refused(file, craft_of.said, [&] { prune(file, {.older_than_seconds = 0}, 2000000000); });
    const auto faults = faults_of(file, {});
    REQUIRE(faults.size() == 1);
    check_refused(file, craft_of.said, [&] { throw DatabaseError(Failure::damaged, faults.front()); });
    if (craft_of.content == Content::tuning) {
      check_refused(file, craft_of.said, [&] { dump(file); });
      check_refused(file, craft_of.said, [&] { read_content(file); });
      check_refused(file, craft_of.said, [&] { load("vostok tuning 1\n", file); });
    } else {
      Connection foreign(file, Access::read_only, 1000);
      Connection own(folder / "own.db", Access::read_write, 1000);
      make_schema(own, Content::code);
      Connection out(folder / "out.db", Access::read_write, 1000);
      make_schema(out, Content::code);
      check_refused(file, craft_of.said, [&] { merge_code(own, foreign, out); });
    }
    CHECK(contents(file) == before);
  }
}

TEST_CASE("what a user may do to a file leaves it in use: other blanks, no index, statistics, a vacuum") {
  const TemporaryFolder folder;
  crafted_file(folder / "c", {"", Content::tuning, "", ""});
  const auto tuning = folder / "c" / "tuning.db";
  const auto code = folder / "c" / "code.db";
  SUBCASE("other blanks") {
    craft(tuning, "UPDATE sqlite_master SET sql = replace(sql, ', ', ',   ' || char(10) || char(9))");
    craft(tuning, "UPDATE sqlite_master SET sql = sql || '  ' WHERE type = 'table'");
  }
  SUBCASE("no index") {
    craft(tuning, "DROP INDEX trial_by_code");
    craft(code, "DROP INDEX code_by_use");
  }
  SUBCASE("statistics") {
    craft(tuning, "ANALYZE");
    craft(code, "ANALYZE");
  }
  SUBCASE("a vacuum") {
    craft(tuning, "VACUUM");
    craft(code, "PRAGMA page_size = 4096; VACUUM");
  }
  Opening opening(in_folder(folder / "c"));
  CHECK(tile_found(opening) == "8");
  CHECK(opening.tuning().standing("d1").passed);
  CHECK(opening.code().find("key").has_value());
  opening.code().put(sample_entry("second"), sample_image());
  CHECK(opening.code().find("second").has_value());
  CHECK(*opening.warnings == 0);
  CHECK(faults_of(tuning, {}).empty());
  CHECK(faults_of(code, {}).empty());
  CHECK(prune(tuning, {.stale = true}, 0).winners == 0);
  CHECK(prune(code, {.max_bytes = 1 << 20}, 0).kernels == 0);
}

TEST_CASE("opening counts no rows, and doctor asks for them") {
  const TemporaryFolder folder;
  crafted_file(folder / "c", {"", Content::tuning, "", ""});
  Opening opening(in_folder(folder / "c"));
  CHECK(opening.layer("tuning.db")->state == "in use");
  CHECK(opening.layer("tuning.db")->tuning_rows == 0);
  CHECK(opening.layer("code.db")->code_rows == 0);
  opening.opened.exchange->count_rows(opening.opened.layers);
  CHECK(opening.layer("tuning.db")->tuning_rows == 2);
  CHECK(opening.layer("code.db")->code_rows == 1);
}
