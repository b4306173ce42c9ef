// A cache can slow a user down but never stop one: files that are damaged, foreign, newer, locked or full.
#include <doctest/doctest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <limits>

#include "cache/database.hpp"
#include "cache/layer.hpp"
#include "unit/cache/fixture.hpp"

using namespace vostok;
using namespace vostok::cache;
using namespace vostok::cache::testing;

namespace {

/// What every degraded cache must still do: remember within this process.
void check_remembers(Opening& opening) {
  opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner("32"));
  const auto found = opening.tuning().find(sample_problem(), sample_device());
  REQUIRE_FALSE(found.empty());
  CHECK(found[0].winner.config.at("tile_rows") == "32");
  opening.tuning().add_trial(sample_problem(), sample_device(), sample_trial("32"));
  CHECK(opening.tuning().trials(sample_problem(), sample_device()).size() >= 1);
  opening.code().put(sample_entry("degraded"), sample_image());
  CHECK(same_image(opening.code().find("degraded").value_or(device::Image{}), sample_image()));
}

/// A folder with one winner, one trial and three kernels in it.
void fill(const std::filesystem::path& folder) {
  Opening opening(in_folder(folder));
  opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner());
  opening.tuning().add_trial(sample_problem(), sample_device(), sample_trial());
  for (const char* key : {"key", "second", "third"}) opening.code().put(sample_entry(key), sample_image(20000));
}

void change(const std::filesystem::path& file, const std::string& sql) {
  Connection(file, Access::read_write, 1000).execute(sql);
}

}  // namespace

TEST_CASE("a file that is no database is set aside and made anew, with one warning") {
  const TemporaryFolder folder;
  fill(folder / "c");
  write_file(folder / "c" / "tuning.db", std::string(5000, 'z'));
  Opening opening(in_folder(folder / "c"));
  CHECK(*opening.warnings == 1);
  CHECK(opening.said("malformed: set aside"));
  CHECK(entries_like(folder / "c", "tuning.db.damaged-") == 1);
  check_remembers(opening);
  CHECK(*opening.warnings == 1);
  CHECK(opening.code().find("key").has_value());
  CHECK(Opening(in_folder(folder / "c")).tuning().find(sample_problem(), sample_device()).size() == 1);
}

TEST_CASE("a truncated file is set aside and made anew") {
  const TemporaryFolder folder;
  fill(folder / "c");
  const auto file = folder / "c" / "code.db";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  Opening opening(in_folder(folder / "c"));
  CHECK_FALSE(opening.code().find("key").has_value());
  CHECK(*opening.warnings == 1);
  CHECK(entries_like(folder / "c", "code.db.damaged-") == 1);
  check_remembers(opening);
  CHECK(Opening(in_folder(folder / "c")).code().find("degraded").has_value());
}

TEST_CASE("damage found while the file is in use sets it aside, and the call that met it is a miss") {
  const TemporaryFolder folder;
  fill(folder / "c");
  Opening opening(in_folder(folder / "c"));
  const auto file = folder / "c" / "tuning.db";
  std::string bytes = contents(file);
  std::fill(bytes.begin() + 4096, bytes.end(), '\x55');
  {
    std::fstream in_place(file, std::ios::in | std::ios::out | std::ios::binary);
    in_place.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  change(folder / "c" / "code.db", "PRAGMA user_version = 1");  // the other file stays as it is
  {
    Connection touch(file, Access::read_write, 1000);
    touch.execute("PRAGMA user_version = 1");  // so that the open connection reads its pages again
  }
  CHECK(opening.tuning().find(sample_problem(), sample_device()).empty());
  CHECK(entries_like(folder / "c", "tuning.db.damaged-") == 1);
  check_remembers(opening);
  CHECK(Opening(in_folder(folder / "c")).tuning().find(sample_problem(), sample_device()).size() == 1);
}

TEST_CASE("a malformed file that another process has replaced already is not set aside again") {
  const TemporaryFolder folder;
  fill(folder / "c");
  Opening late(in_folder(folder / "c"));
  CHECK(late.tuning().find(sample_problem(), sample_device()).size() == 1);
  const auto file = folder / "c" / "tuning.db";
  const std::string good = contents(file);
  write_file(file, std::string(good.size(), 'z'));  // the same inode, which `late` has open
  std::filesystem::rename(file, folder / "c" / "tuning.db.damaged-1");
  fill(folder / "c");
  CHECK(late.tuning().find(sample_problem(), sample_device()).size() == 1);
  CHECK(entries_like(folder / "c", "tuning.db.damaged-") == 1);
}

TEST_CASE("the journal of a malformed file is set aside with it, even while another connection writes") {
  const TemporaryFolder folder;
  fill(folder / "c");
  const auto file = folder / "c" / "tuning.db";
  {
    Connection writer(file, Access::read_write, 1000);
    writer.execute("BEGIN IMMEDIATE; DELETE FROM trial");
    REQUIRE(std::filesystem::exists(folder / "c" / "tuning.db-journal"));
    std::fflush(nullptr);        // what is buffered is written once: ThreadSanitizer flushes at every end
    const pid_t child = fork();  // closing the file in this process would release the writer's lock
    if (child == 0) {
      std::fstream(file, std::ios::in | std::ios::out | std::ios::binary) << std::string(100, 'z');
      _exit(0);
    }
    REQUIRE(waitpid(child, nullptr, 0) == child);
    Opening opening(in_folder(folder / "c"));
    check_remembers(opening);
    CHECK(*opening.warnings == 1);
  }
  CHECK(entries_like(folder / "c", "tuning.db.damaged-") == 2);
  CHECK_FALSE(std::filesystem::exists(folder / "c" / "tuning.db-journal"));
  CHECK(Opening(in_folder(folder / "c")).tuning().find(sample_problem(), sample_device()).size() == 1);
}

TEST_CASE("a database of something else is set aside, not written into") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "c");
  std::filesystem::permissions(folder / "c", std::filesystem::perms::owner_all);
  change(folder / "c" / "tuning.db", "CREATE TABLE diary(day TEXT); INSERT INTO diary VALUES('mine')");
  Opening opening(in_folder(folder / "c"));
  CHECK(*opening.warnings == 1);
  CHECK(entries_like(folder / "c", "tuning.db.damaged-") == 1);
  check_remembers(opening);
}

TEST_CASE("a file of a newer schema is ignored and left as it is, with one warning") {
  const TemporaryFolder folder;
  fill(folder / "c");
  change(folder / "c" / "tuning.db", "PRAGMA user_version = 99");
  const std::string before = contents(folder / "c" / "tuning.db");
  Opening opening(in_folder(folder / "c"));
  CHECK(*opening.warnings == 1);
  CHECK(opening.said("newer schema: ignored"));
  CHECK(opening.tuning().find(sample_problem(), sample_device()).empty());
  check_remembers(opening);
  CHECK(*opening.warnings == 1);
  CHECK(contents(folder / "c" / "tuning.db") == before);
  CHECK(opening.layer("tuning.db")->state.find("newer schema") == 0);
}

TEST_CASE("a file locked past the time-out is skipped, with one warning") {
  const TemporaryFolder folder;
  fill(folder / "c");
  auto options = in_folder(folder / "c");
  options.lock_timeout_ms = 30;
  Connection holder(folder / "c" / "tuning.db", Access::read_write, 1000);
  SUBCASE("for reading and writing") {
    holder.execute("BEGIN EXCLUSIVE");
    Opening opening(options);
    CHECK(*opening.warnings == 1);
    CHECK(opening.said("locked by another process for over 30 ms"));
    CHECK(opening.tuning().find(sample_problem(), sample_device()).empty());
    check_remembers(opening);
    CHECK(*opening.warnings == 1);
  }
  SUBCASE("for writing: what is there is still read") {
    Opening opening(options);
    holder.execute("BEGIN IMMEDIATE");
    opening.tuning().set_winner(sample_problem(128), sample_device(), sample_winner());
    CHECK(*opening.warnings == 1);
    CHECK(opening.tuning().find(sample_problem(), sample_device()).size() == 2);
    check_remembers(opening);
  }
}

TEST_CASE("a damaged kernel is a miss, its row is removed, and the others stay") {
  const TemporaryFolder folder;
  fill(folder / "c");
  const char* damage = "";
  SUBCASE("in its binary") { damage = "UPDATE code SET binary = zeroblob(20000) WHERE key = 'key'"; }
  SUBCASE("in its symbol") { damage = "UPDATE code SET symbol = 'other' WHERE key = 'key'"; }
  SUBCASE("in its digest") { damage = "UPDATE code SET digest = '' WHERE key = 'key'"; }
  change(folder / "c" / "code.db", damage);
  Opening opening(in_folder(folder / "c"));
  CHECK_FALSE(opening.code().find("key").has_value());
  CHECK(*opening.warnings == 1);
  Connection connection(folder / "c" / "code.db", Access::read_only, 1000);
  CHECK(connection.number("SELECT count(*) FROM code WHERE key = 'key'") == 0);
  CHECK(opening.code().find("second").has_value());
  opening.code().put(sample_entry(), sample_image());
  CHECK(opening.code().find("key").has_value());
}

TEST_CASE("a damaged tuning row is a miss, and the others stay") {
  const TemporaryFolder folder;
  fill(folder / "c");
  Opening(in_folder(folder / "c"))
      .tuning()
      .set_winner(sample_problem(), sample_device("GPU-other"), sample_winner("16"));
  SUBCASE("a config that is no field map") {
    change(folder / "c" / "tuning.db", "UPDATE winner SET config = 'tile_rows' WHERE config LIKE '%=8'");
  }
  SUBCASE("an effort that nobody knows") {
    change(folder / "c" / "tuning.db", "UPDATE winner SET effort = 'heroic' WHERE config LIKE '%=8'");
  }
  Opening opening(in_folder(folder / "c"));
  const auto found = opening.tuning().find(sample_problem(), sample_device());
  REQUIRE(found.size() == 1);
  CHECK(found[0].winner.config.at("tile_rows") == "16");
  CHECK(*opening.warnings == 0);
}

TEST_CASE("a row that the schema refuses is not stored, and the file stays in use") {
  const TemporaryFolder folder;
  Opening opening(in_folder(folder / "c"));
  auto unmeasured = sample_winner();
  unmeasured.median_us = std::numeric_limits<double>::quiet_NaN();
  opening.tuning().set_winner(sample_problem(), sample_device(), unmeasured);
  CHECK(*opening.warnings == 1);
  opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner());
  CHECK(*opening.warnings == 1);
  CHECK(Opening(in_folder(folder / "c")).tuning().find(sample_problem(), sample_device()).size() == 1);
}

TEST_CASE("a full disk is memory, with one warning for each file, and what was there is still read") {
  const TemporaryFolder folder;
  const auto small = folder / "small";
  std::filesystem::create_directory(small);
  if (mount("tmpfs", small.c_str(), "tmpfs", 0, "size=128k,mode=0700") != 0) {
    MESSAGE("not run: mounting a small tmpfs needs root (" << std::strerror(errno) << ")");
    return;
  }
  {
    Opening opening(in_folder(small / "c"));
    opening.tuning().set_winner(sample_problem(32), sample_device(), sample_winner());
    write_file(small / "ballast", std::string(1 << 20, 'b'));  // as much as there is room for
    for (int i = 0; i < 40; ++i) opening.code().put(sample_entry("k" + std::to_string(i)), sample_image());
    for (int i = 0; i < 40; ++i) CHECK(opening.code().find("k" + std::to_string(i)).has_value());
    check_remembers(opening);
    CHECK(*opening.warnings == 2);
    CHECK(opening.said("no longer written"));
    CHECK(opening.tuning().find(sample_problem(32), sample_device()).size() >= 1);
  }
  CHECK(umount(small.c_str()) == 0);
}

TEST_CASE("a layer that runs full is no longer written, and still read") {
  const TemporaryFolder folder;
  const auto said = std::make_shared<int>(0);
  Layer layer({.content = Content::code, .path = folder / "code.db", .writable = true, .lock_timeout_ms = 1000},
              std::make_shared<const Reporter>(nullptr, [said] { ++*said; }), std::make_shared<const PathProbe>());
  CHECK(layer.write([](Connection& connection) { connection.execute("CREATE TABLE more(bytes BLOB)"); }));
  const auto add = [](Connection& connection) { connection.execute("INSERT INTO more VALUES(zeroblob(100000))"); };
  CHECK(layer.write(add));
  CHECK(layer.read([](Connection& connection) { connection.execute("PRAGMA max_page_count = 1"); }));
  CHECK_FALSE(layer.write(add));
  CHECK_FALSE(layer.write(add));
  CHECK(*said == 1);
  std::int64_t rows = 0;
  CHECK(layer.read([&](Connection& connection) { rows = connection.number("SELECT count(*) FROM more"); }));
  CHECK(rows == 1);
  CHECK(layer.state().find("no longer written") == 0);
}

TEST_CASE("a file in write-ahead mode is taken back to a rollback journal") {
  const TemporaryFolder folder;
  fill(folder / "c");
  change(folder / "c" / "tuning.db", "PRAGMA journal_mode = WAL");
  Opening opening(in_folder(folder / "c"));
  CHECK(opening.tuning().find(sample_problem(), sample_device()).size() == 1);
  CHECK(contents(folder / "c" / "tuning.db").substr(18, 2) == std::string("\x01\x01"));
}
