// What the stores give back, layer by layer.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include "cache/database.hpp"
#include "unit/cache/fixture.hpp"

using namespace vostok;
using namespace vostok::cache;
using namespace vostok::cache::testing;

TEST_CASE("a winner comes back whole, from another opening, as tuned here") {
  const TemporaryFolder folder;
  Opening(in_folder(folder / "c")).tuning().set_winner(sample_problem(), sample_device(), sample_winner());
  Opening again(in_folder(folder / "c"));
  const auto found = again.tuning().find(sample_problem(), sample_device());
  REQUIRE(found.size() == 1);
  const auto expected = sample_winner();
  CHECK(found[0].provenance == Provenance::tuned_here);
  CHECK(found[0].distance == 0);
  CHECK(found[0].device == sample_device());
  CHECK(found[0].features == sample_problem().features);
  CHECK(found[0].winner.family == expected.family);
  CHECK(found[0].winner.config == expected.config);
  CHECK(found[0].winner.code_digest == expected.code_digest);
  CHECK(found[0].winner.median_us == expected.median_us);
  CHECK(found[0].winner.default_median_us == expected.default_median_us);
  CHECK(found[0].winner.rounds == expected.rounds);
  CHECK(found[0].winner.effort == expected.effort);
  CHECK(found[0].winner.library_version == expected.library_version);
  CHECK(*again.warnings == 0);
}

TEST_CASE(
    "what is stored for the problem without its bias is found behind what is stored for the whole one, near and on "
    "this device") {
  const TemporaryFolder folder;
  Opening opening(in_folder(folder.path()));
  plan::ProblemKey biased = sample_problem();
  biased.exact = "bias=per_row " + sample_problem().exact;
  biased.plain = sample_problem().exact;
  opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner("8"));
  opening.tuning().set_winner(sample_problem(72), sample_device(), sample_winner("4"));
  const auto found = opening.tuning().find_same(biased, sample_device());
  REQUIRE(found.size() == 1);
  CHECK(found[0].plain);
  CHECK(found[0].provenance == Provenance::tuned_here);
  CHECK(found[0].winner.config.at("tile_rows") == "8");

  opening.tuning().set_winner(biased, sample_device("GPU-elsewhere"), sample_winner("16"));
  const auto all = opening.tuning().find(biased, sample_device());
  REQUIRE(all.size() == 3);
  CHECK(all[0].winner.config.at("tile_rows") == "16");
  CHECK_FALSE(all[0].plain);
  CHECK(all[1].winner.config.at("tile_rows") == "8");
  CHECK(all[2].plain);
  CHECK(all[2].provenance == Provenance::nearest_problem);
  CHECK(opening.tuning().trials(biased, sample_device()).empty());
  CHECK_MESSAGE(opening.tuning().find(sample_problem(), sample_device()).size() == 2, "the way back is not taken");
}

TEST_CASE("trials come back whole, and one of the same candidate is replaced") {
  const TemporaryFolder folder;
  Opening first(in_folder(folder / "c"));
  first.tuning().add_trial(sample_problem(), sample_device(), sample_trial("4"));
  auto rejected = sample_trial("8");
  rejected.status = "rejected";
  rejected.reason = "tile_rows = 8: needs more shared memory";
  rejected.median_us = std::nullopt;
  rejected.spread_us = std::nullopt;
  first.tuning().add_trial(sample_problem(), sample_device(), sample_trial("8"));
  first.tuning().add_trial(sample_problem(), sample_device(), rejected);
  auto trials = Opening(in_folder(folder / "c")).tuning().trials(sample_problem(), sample_device());
  REQUIRE(trials.size() == 2);
  CHECK(trials[0].median_us == 12.5);
  CHECK(trials[0].spread_us == 0.125);
  CHECK(trials[0].registers == 40);
  CHECK(trials[0].shared_bytes == 2048);
  CHECK(trials[0].measured_at == 1700000000);
  CHECK(trials[0].is_default);
  CHECK(trials[1].status == "rejected");
  CHECK(trials[1].reason == rejected.reason);
  CHECK_FALSE(trials[1].median_us.has_value());
  CHECK(first.tuning().trials(sample_problem(65), sample_device()).empty());
  CHECK(first.tuning().trials(sample_problem(), sample_device("GPU-other")).empty());
}

TEST_CASE("a new driver makes no new device, and what was measured keeps its own") {
  const TemporaryFolder folder;
  Opening opening(in_folder(folder / "c"));
  opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner());
  auto updated = sample_device();
  updated.driver = "13.2";
  const auto found = opening.tuning().find(sample_problem(), updated);
  REQUIRE(found.size() == 1);
  CHECK(found[0].provenance == Provenance::tuned_here);
  CHECK(found[0].device.driver == "13.0");
}

TEST_CASE("each layer is asked in order, and says where a choice came from") {
  const TemporaryFolder folder;
  Opening(in_folder(folder / "shipped"))
      .tuning()
      .set_winner(sample_problem(), sample_device("GPU-vendor"), sample_winner("1"));
  Opening(in_folder(folder / "fleet"))
      .tuning()
      .set_winner(sample_problem(), sample_device("GPU-fleet"), sample_winner("2"));
  auto options = in_folder(folder / "user");
  options.shipped = folder / "shipped";
  options.read_only = {folder / "fleet" / "tuning.db"};
  Opening opening(options);
  opening.tuning().set_winner(sample_problem(), sample_device("GPU-here"), sample_winner("3"));
  const auto found = opening.tuning().find(sample_problem(), sample_device("GPU-here"));
  REQUIRE(found.size() == 3);
  CHECK(found[0].winner.config.at("tile_rows") == "3");
  CHECK(found[0].provenance == Provenance::tuned_here);
  CHECK(found[1].winner.config.at("tile_rows") == "2");
  CHECK(found[1].provenance == Provenance::tuned_elsewhere);
  CHECK(found[2].winner.config.at("tile_rows") == "1");
  CHECK(found[2].provenance == Provenance::shipped);
  CHECK(*opening.warnings == 0);
  SUBCASE("here is computed from the uuid, whatever the layer") {
    const auto there = opening.tuning().find(sample_problem(), sample_device("GPU-fleet"));
    REQUIRE(there.size() == 3);
    CHECK(there[0].winner.config.at("tile_rows") == "2");
    CHECK(there[0].provenance == Provenance::tuned_here);
  }
  SUBCASE("those of the problem itself are found without its neighbours") {
    const auto neighbour = sample_problem(sample_problem().features.n + 1);
    plan::DeviceKey other_model = sample_device("GPU-other");
    other_model.multiprocessors *= 2;
    opening.tuning().set_winner(sample_problem(), other_model, sample_winner("4"));
    CHECK(opening.tuning().find_same(sample_problem(), sample_device("GPU-here")).size() == 3);
    CHECK(opening.tuning().find(sample_problem(), sample_device("GPU-here")).size() == 4);
    CHECK(opening.tuning().find_same(neighbour, sample_device("GPU-here")).empty());
    CHECK_FALSE(opening.tuning().find(neighbour, sample_device("GPU-here")).empty());
  }
  SUBCASE("what is read is not written") {
    opening.code().put(sample_entry(), sample_image());
    CHECK_FALSE(std::filesystem::exists(folder / "shipped" / "tuning.db-journal"));
    REQUIRE(opening.layer("fleet/tuning.db") != nullptr);
    opening.opened.exchange->count_rows(opening.opened.layers);
    CHECK(opening.layer("fleet/tuning.db")->tuning_rows == 1);
    CHECK(opening.layer("shipped/tuning.db")->kind == "shipped");
    CHECK(opening.layer("shipped/tuning.db")->state == "in use");
  }
}

TEST_CASE("a kernel comes back byte for byte, through the user and the shipped layer") {
  const TemporaryFolder folder;
  Opening shipped(in_folder(folder / "shipped"));
  shipped.code().put(sample_entry(), sample_image());
  CHECK(same_image(*shipped.code().find("key"), sample_image()));
  auto options = in_folder(folder / "user");
  options.shipped = folder / "shipped";
  Opening opening(options);
  REQUIRE(opening.code().find("key").has_value());
  CHECK(same_image(*opening.code().find("key"), sample_image()));
  CHECK_FALSE(opening.code().find("other").has_value());
  SUBCASE("one that the driver refused is not offered again, until it was compiled anew") {
    opening.code().drop("key");
    CHECK_FALSE(opening.code().find("key").has_value());
    CHECK(shipped.code().find("key").has_value());
    opening.code().put(sample_entry(), sample_image(77));
    CHECK(opening.code().find("key")->binary.size() == 77);
  }
}

TEST_CASE("code.db stays within its bound, and the longest unused kernels go first") {
  const TemporaryFolder folder;
  auto options = in_folder(folder / "c");
  options.max_code_bytes = 1 << 20;
  Opening opening(options);
  opening.code().put(sample_entry("old"), sample_image(50000));
  opening.code().put(sample_entry("kept"), sample_image(50000));
  {
    Connection connection(folder / "c" / "code.db", Access::read_write, 1000);
    connection.execute("UPDATE code SET last_use = last_use - 1000000 WHERE key = 'old'");
    connection.execute("UPDATE code SET last_use = last_use + 1000000 WHERE key = 'kept'");
  }
  for (int i = 0; i < 40; ++i) {
    opening.code().put(sample_entry("new" + std::to_string(i)), sample_image(50000));
    CHECK(opening.code().find("new" + std::to_string(i)).has_value());
  }
  CHECK_FALSE(opening.code().find("old").has_value());
  CHECK(opening.code().find("kept").has_value());
  CHECK(std::filesystem::file_size(folder / "c" / "code.db") <= (1 << 20) + 100000);
  SUBCASE("a lower bound shrinks the file") {
    options.max_code_bytes = 300000;
    Opening(options).code().put(sample_entry("last"), sample_image(50000));
    CHECK(std::filesystem::file_size(folder / "c" / "code.db") <= 300000);
  }
}

TEST_CASE("last use is written once a day, not at every look-up") {
  const TemporaryFolder folder;
  Opening opening(in_folder(folder / "c"));
  opening.code().put(sample_entry(), sample_image());
  Connection connection(folder / "c" / "code.db", Access::read_write, 1000);
  const auto stored = connection.number("SELECT last_use FROM code");
  connection.execute("UPDATE code SET last_use = last_use - 3600");
  CHECK(opening.code().find("key").has_value());
  CHECK(connection.number("SELECT last_use FROM code") == stored - 3600);
  connection.execute("UPDATE code SET last_use = last_use - 90000");
  CHECK(opening.code().find("key").has_value());
  CHECK(connection.number("SELECT last_use FROM code") >= stored);
}

TEST_CASE("a cache that is switched off remembers within the process and touches no file") {
  const TemporaryFolder folder;
  auto options = in_folder(folder / "c");
  options.enabled = false;
  Opening opening(options);
  opening.code().put(sample_entry(), sample_image());
  CHECK(opening.code().find("key").has_value());
  CHECK_FALSE(std::filesystem::exists(folder / "c"));
  CHECK(opening.opened.layers.at(0).kind == "memory");
}

TEST_CASE("the files are kept in rollback mode, marked as ours, in a folder of mode 0700") {
  const TemporaryFolder folder;
  const Opening opening(in_folder(folder / "a" / "b"));
  struct stat status = {};
  REQUIRE(stat((folder / "a").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0700);
  REQUIRE(stat((folder / "a" / "b").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0700);
  for (const char* file : {"tuning.db", "code.db"}) {
    Connection connection(folder / "a" / "b" / file, Access::read_only, 1000);
    Statement mode = connection.query("PRAGMA journal_mode");
    REQUIRE(mode.step());
    CHECK(mode.text(0) == "delete");
    CHECK(connection.number("PRAGMA user_version") == 1);
    CHECK(connection.number("PRAGMA application_id") != 0);
  }
}
