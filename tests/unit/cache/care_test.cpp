// Rules that mask choices, signatures that kernels need, files made smaller and checked, rows handed on.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>

#include "cache/code_rows.hpp"
#include "cache/database.hpp"
#include "cache/dump.hpp"
#include "cache/errata.hpp"
#include "cache/prune.hpp"
#include "cache/signature.hpp"
#include "cache/summary.hpp"
#include "cache/tuning_content.hpp"
#include "error_code.hpp"
#include "unit/cache/fixture.hpp"

using namespace vostok;
using namespace vostok::cache;
using namespace vostok::cache::testing;

namespace {

/// A folder with winners for two sizes, a good and a bad trial, and two kernels.
void fill(const std::filesystem::path& folder) {
  Opening opening(in_folder(folder));
  opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner());
  opening.tuning().set_winner(sample_problem(4096), sample_device(), sample_winner("16"));
  opening.tuning().add_trial(sample_problem(), sample_device(), sample_trial());
  auto failed = sample_trial("2");
  failed.status = "faulted";
  failed.code_digest = "d2";
  failed.median_us = std::nullopt;
  opening.tuning().add_trial(sample_problem(), sample_device(), failed);
  opening.code().put(sample_entry("key"), sample_image());
  opening.code().put(sample_entry("second"), sample_image(20000));
}

void change(const std::filesystem::path& file, const std::string& sql) {
  Connection(file, Access::read_write, 1000).execute(sql);
}

std::vector<std::string> tiles_found(Opening& opening, const plan::DeviceKey& device = sample_device()) {
  std::vector<std::string> tiles;
  for (const plan::WinnerMatch& match : opening.tuning().find(sample_problem(), device))
    tiles.push_back(match.winner.config.at("tile_rows"));
  return tiles;
}

using Tiles = std::vector<std::string>;

}  // namespace

TEST_CASE("with trusted keys, kernels of shipped and read-only files need a signature, and tuning rows do not") {
  const TemporaryFolder folder;
  fill(folder / "c");
  const SigningKey ours = make_signing_key();
  const SigningKey theirs = make_signing_key();
  auto options = in_folder(folder / "user");
  SUBCASE("as the shipped layer") { options.shipped = folder / "c"; }
  SUBCASE("as a read-only folder") { options.read_only = {folder / "c"}; }
  SUBCASE("as a read-only file") { options.read_only = {folder / "c" / "code.db", folder / "c" / "tuning.db"}; }
  const auto code = folder / "c" / "code.db";
  const auto check = [&](bool found, const std::string& said) {
    Opening opening(options);
    CHECK(opening.code().find("key").has_value() == found);
    CHECK(opening.code().find("second").has_value() == found);
    CHECK(tiles_found(opening) == Tiles{"8"});
    CHECK(*opening.warnings == (found ? 0 : 1));
    CHECK((said.empty() || opening.said(said)));
  };
  check(true, "");
  options.trusted_keys = {theirs.public_key.hex, ours.public_key.hex};
  check(false, "it is not signed");
  sign_file(code, ours);
  check(true, "");
  options.trusted_keys = {theirs.public_key.hex};
  check(false, "the key that signed it is not trusted");
  options.trusted_keys = {ours.public_key.hex};
  change(code, "UPDATE code SET family = 'other'");
  check(false, "it is not what was signed");
  write_file(signature_path(code), "vostok signature 1 nonsense\n");
  check(false, "its signature is malformed");
}

TEST_CASE("a trusted key that cannot be read trusts nothing, and the user's own kernels need no signature") {
  const TemporaryFolder folder;
  fill(folder / "c");
  auto options = in_folder(folder / "c");
  options.trusted_keys = {(folder / "absent.pub").string()};
  Opening own(options);
  CHECK(own.code().find("key").has_value());
  CHECK(own.said("a trusted key is not used"));
  options = in_folder(folder / "user");
  options.shipped = folder / "c";
  options.trusted_keys = {"not a key"};
  CHECK_FALSE(Opening(options).code().find("key").has_value());
}

TEST_CASE("keys are written once, the secret one for its owner alone, and read back") {
  const TemporaryFolder folder;
  const SigningKey key = make_signing_key();
  write_key(key, folder / "team.key");
  write_key(key.public_key, folder / "team.pub");
  struct stat status = {};
  REQUIRE(stat((folder / "team.key").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0600);
  CHECK(read_signing_key(folder / "team.key").public_key == key.public_key);
  CHECK(parse_public_key((folder / "team.pub").string()) == key.public_key);
  CHECK(parse_public_key(key.public_key.hex) == key.public_key);
  CHECK(vostok::test::code_of([&] { write_key(key, folder / "team.key"); }) == ErrorCode::io_failure);
  CHECK(vostok::test::code_of([&] { read_signing_key(folder / "team.pub"); }) == ErrorCode::invalid_argument);
  CHECK(vostok::test::code_of([&] { parse_public_key((folder / "absent").string()); }) == ErrorCode::io_failure);
}

TEST_CASE("verify names every fault, and nothing where there is none") {
  const TemporaryFolder folder;
  fill(folder / "c");
  const auto tuning = folder / "c" / "tuning.db";
  const auto code = folder / "c" / "code.db";
  const SigningKey key = make_signing_key();
  CHECK(faults_of(tuning, {}).empty());
  CHECK(faults_of(code, {}).empty());
  const auto has_fault = [](const std::filesystem::path& file, const std::string& part,
                            const std::vector<PublicKey>& trusted = {}) {
    const auto faults = faults_of(file, trusted);
    REQUIRE(faults.size() == 1);
    INFO(faults.front());
    return faults.front().find(part) != std::string::npos;
  };
  CHECK(has_fault(code, "not signed", {key.public_key}));
  sign_file(code, key);
  CHECK(faults_of(code, {key.public_key}).empty());
  CHECK(summarise(code).signer == key.public_key);
  CHECK(has_fault(folder / "absent.db", "cannot open"));
  SUBCASE("a damaged kernel") {
    change(code, "UPDATE code SET registers = 1 WHERE key = 'key'");
    CHECK(has_fault(code, "the kernel key is damaged"));
  }
  SUBCASE("a row that refers to nothing") {
    change(tuning, "DELETE FROM problem WHERE n = 4096");
    CHECK(has_fault(tuning, "1 winners refer to a problem"));
  }
  SUBCASE("a config that is none") {
    change(tuning, "UPDATE trial SET config = 'tile_rows' WHERE config LIKE '%=2'");
    CHECK(has_fault(tuning, "1 trials cannot be read"));
  }
  SUBCASE("a time that cannot be") {
    change(tuning, "UPDATE winner SET median_us = -1");
    CHECK(has_fault(tuning, "2 winners have no time"));
  }
  SUBCASE("a newer schema") {
    change(tuning, "PRAGMA user_version = 99");
    CHECK(has_fault(tuning, "schema is 99"));
  }
  SUBCASE("damaged pages") {
    std::string bytes = contents(tuning);
    constexpr std::ptrdiff_t page = 4096;
    std::fill(bytes.begin() + 2 * page, bytes.begin() + 4 * page, '\x55');
    write_file(tuning, bytes);
    CHECK_FALSE(faults_of(tuning, {}).empty());
  }
}

TEST_CASE("prune removes what is asked for, and nothing else") {
  const TemporaryFolder folder;
  fill(folder / "c");
  const auto tuning = folder / "c" / "tuning.db";
  const auto code = folder / "c" / "code.db";
  constexpr std::int64_t measured_at = 1700000000;
  SUBCASE("nothing: every row stays as it was") {
    const std::string before = dump(tuning);
    CHECK(prune(tuning, {}, measured_at).trials == 0);
    CHECK(dump(tuning) == before);
  }
  SUBCASE("old trials, while choices stay") {
    CHECK(prune(tuning, {.older_than_seconds = 100}, measured_at + 100).trials == 0);
    CHECK(prune(tuning, {.older_than_seconds = 100}, measured_at + 101).trials == 1);
    CHECK(summarise(tuning).winners == 2);
    CHECK(summarise(tuning).trials == 1);  // what failed: it stays banned
  }
  SUBCASE("of code that failed, what it had won and where it was measured, while the ban stays until it is lifted") {
    change(tuning, "UPDATE winner SET code_digest = 'd2' WHERE config LIKE '%=16'");
    {
      Opening opening(in_folder(folder / "c"));
      auto elsewhere = sample_trial("2");
      elsewhere.code_digest = "d2";
      opening.tuning().add_trial(sample_problem(4096), sample_device(), elsewhere);
      elsewhere.status = "banned";
      opening.tuning().add_trial(sample_problem(7), sample_device(), elsewhere);
    }
    const auto ban = [&] { return Opening(in_folder(folder / "c")).tuning().standing("d2").failure; };
    const Pruned pruned = prune(tuning, {.banned = true}, measured_at);
    CHECK(pruned.trials == 1);
    CHECK(pruned.winners == 1);
    CHECK(ban() == "faulted");
    const Pruned lifted = prune(tuning, {.lift_bans = true}, measured_at);
    CHECK(lifted.trials == 2);
    CHECK(lifted.winners == 0);
    CHECK(ban() == "");
    CHECK(summarise(tuning).trials == 1);
  }
  SUBCASE("trials of older code of a config") {
    auto newer = sample_trial();
    newer.code_digest = "d9";
    newer.measured_at += 1;
    Opening(in_folder(folder / "c")).tuning().add_trial(sample_problem(), sample_device(), newer);
    CHECK(prune(tuning, {.stale = true}, measured_at).trials == 1);
    CHECK(dump(tuning).find("code_digest=d9") != std::string::npos);
    newer = sample_trial("2");
    newer.measured_at += 1;
    Opening(in_folder(folder / "c")).tuning().add_trial(sample_problem(), sample_device(), newer);
    CHECK(prune(tuning, {.stale = true}, measured_at).trials == 0);  // d2 failed: it stays banned
  }
  SUBCASE("kernels that were not used, or beyond a size") {
    change(code, "UPDATE code SET last_use = 5 WHERE key = 'second'");
    SUBCASE("by age") { CHECK(prune(code, {.older_than_seconds = 100}, 106).kernels == 1); }
    SUBCASE("by size") { CHECK(prune(code, {.max_bytes = 32768}, 0).kernels == 1); }
    Connection connection(code, Access::read_only, 1000);
    CHECK(code_keys(connection) == std::vector<std::string>{"key"});
    CHECK(std::filesystem::file_size(code) <= 32768);
  }
  CHECK(faults_of(tuning, {}).empty());
  CHECK(faults_of(code, {}).empty());
}

TEST_CASE("exported rows, imported elsewhere, are found there, and what was measured there stays") {
  const TemporaryFolder folder;
  fill(folder / "a");
  const Opening a(in_folder(folder / "a"));
  const std::string rows = a.opened.exchange->export_rows();
  CHECK(rows == dump(folder / "a" / "tuning.db"));
  auto options = in_folder(folder / "b");
  SUBCASE("into a file") {}
  SUBCASE("into memory") { options.enabled = false; }
  Opening b(options);
  CHECK(tiles_found(b).empty());
  SUBCASE("from another device") {
    b.opened.exchange->import_rows(rows, sample_device("GPU-b"));
    CHECK(tiles_found(b) == Tiles{"8"});
    CHECK(b.tuning().trials(sample_problem(), sample_device()).size() == 2);
    CHECK(b.opened.exchange->export_rows() == rows);
  }
  SUBCASE("of this device, of which some are known") {
    b.tuning().set_winner(sample_problem(), sample_device(), sample_winner("32"));
    b.opened.exchange->import_rows(rows, sample_device());
    CHECK(tiles_found(b) == Tiles{"32"});
    CHECK(b.tuning().find(sample_problem(4096), sample_device()).size() == 1);
  }
  SUBCASE("what is no dump is refused whole") {
    CHECK(vostok::test::code_of([&] {
            b.opened.exchange->import_rows(rows + "winner nonsense\n", sample_device("GPU-b"));
          }) == ErrorCode::invalid_argument);
    CHECK(tiles_found(b).empty());
  }
  CHECK(*b.warnings == 0);
}

TEST_CASE("load keeps the rows of devices that it is told to keep") {
  const TemporaryFolder folder;
  fill(folder / "a");
  const std::string text = dump(folder / "a" / "tuning.db");
  Opening b(in_folder(folder / "b"));
  b.tuning().set_winner(sample_problem(), sample_device(), sample_winner("32"));
  const auto file = folder / "b" / "tuning.db";
  load(text, file, {sample_device().uuid});
  CHECK(tiles_found(b) == Tiles{"32"});
  CHECK(summarise(file).winners == 2);
  load(text, file, {"GPU-other"});
  CHECK(tiles_found(b) == Tiles{"8"});
}

TEST_CASE("reload sees a file that came, and one that took another's place, while memory stays") {
  const TemporaryFolder folder;
  fill(folder / "ready");
  auto options = in_folder(folder / "user");
  options.shipped = folder / "shipped";
  Opening opening(options);
  CHECK(tiles_found(opening).empty());
  std::filesystem::rename(folder / "ready", folder / "shipped");
  CHECK(tiles_found(opening).empty());
  opening.opened.exchange->reload();
  CHECK(tiles_found(opening) == Tiles{"8"});
  CHECK(opening.code().find("key").has_value());
  SUBCASE("another file under the same name") {
    TuningContent content = read_content(folder / "shipped" / "tuning.db");
    for (WinnerRow& row : content.winners) row.winner.config["tile_rows"] = "64";
    write_content(content, folder / "shipped" / "tuning.db");
    CHECK(tiles_found(opening) == Tiles{"8"});  // the open file, which the new one did not touch
    opening.opened.exchange->reload();
    CHECK(tiles_found(opening) == Tiles{"64"});
  }
  SUBCASE("memory") {
    options.enabled = false;
    Opening remembering(options);
    remembering.tuning().set_winner(sample_problem(), sample_device(), sample_winner());
    remembering.opened.exchange->reload();
    CHECK(tiles_found(remembering) == Tiles{"8"});
  }
  CHECK(*opening.warnings == 0);
}

TEST_CASE("eviction takes the user's kernels, never those of a shipped file") {
  const TemporaryFolder folder;
  fill(folder / "shipped");
  const std::string shipped = contents(folder / "shipped" / "code.db");
  auto options = in_folder(folder / "user");
  options.shipped = folder / "shipped";
  options.max_code_bytes = 200000;
  Opening opening(options);
  for (int i = 0; i < 30; ++i) opening.code().put(sample_entry("new" + std::to_string(i)), sample_image(20000));
  CHECK_FALSE(opening.code().find("new0").has_value());
  CHECK(opening.code().find("new29").has_value());
  CHECK(opening.code().find("key").has_value());
  CHECK(contents(folder / "shipped" / "code.db") == shipped);
}
