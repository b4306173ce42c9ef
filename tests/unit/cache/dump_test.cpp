#include "cache/dump.hpp"

#include <doctest/doctest.h>

#include "cache/database.hpp"
#include "unit/cache/fixture.hpp"

using namespace vostok;
using namespace vostok::cache;
using namespace vostok::cache::testing;

namespace {

/// Rows of every table, with values that are hard to write down.
std::filesystem::path filled(const std::filesystem::path& folder) {
  Opening opening(in_folder(folder));
  auto problem = sample_problem();
  problem.features.row_variation = 0.1 + 0.2;
  auto trial = sample_trial();
  trial.reason = "100 % of\nwhat = was asked\t(too much)";
  trial.median_us = 1.0 / 3;
  trial.spread_us = std::nullopt;
  opening.tuning().add_trial(problem, sample_device("GPU-b"), trial);
  opening.tuning().add_trial(problem, sample_device("GPU-a"), sample_trial("16"));
  opening.tuning().set_winner(sample_problem(), sample_device("GPU-a"), sample_winner());
  Connection(folder / "tuning.db", Access::read_write, 1000)
      .execute(
          "INSERT INTO errata VALUES('E1', 'spmm', 'row_tile', 'tile_rows=99', '', 'sm_90', '', '0.1.0', 'wrong on odd "
          "n', 1700000000)");
  return folder / "tuning.db";
}

}  // namespace

TEST_CASE("a dump, loaded and dumped again, is byte-identical") {
  const TemporaryFolder folder;
  const std::string text = dump(filled(folder / "c"));
  load(text, folder / "copy.db");
  CHECK(dump(folder / "copy.db") == text);
  SUBCASE("loading twice changes nothing") {
    load(text, folder / "copy.db");
    CHECK(dump(folder / "copy.db") == text);
  }
  SUBCASE("and the copy serves as a layer") {
    auto options = in_folder(folder / "user");
    options.read_only = {folder / "copy.db"};
    Opening opening(options);
    const auto found = opening.tuning().find(sample_problem(), sample_device("GPU-a"));
    REQUIRE(found.size() == 1);
    CHECK(found[0].winner.median_us == sample_winner().median_us);
  }
}

TEST_CASE("a dump does not depend on the order in which rows were stored") {
  const TemporaryFolder folder;
  for (const bool forward : {true, false}) {
    Opening opening(in_folder(folder / (forward ? "a" : "b")));
    for (int i = 0; i < 4; ++i) {
      const int n = forward ? i : 3 - i;
      auto trial = sample_trial(std::to_string(n));
      opening.tuning().add_trial(sample_problem(1 + n / 2), sample_device("GPU-" + std::to_string(n % 2)), trial);
    }
  }
  CHECK(dump(folder / "a" / "tuning.db") == dump(folder / "b" / "tuning.db"));
}

TEST_CASE("a dump is readable") {
  const TemporaryFolder folder;
  const std::string text = dump(filled(folder / "c"));
  CHECK(text.rfind("vostok tuning 1\ndevice architecture=sm_90 id=", 0) == 0);
  CHECK(text.find("name=NVIDIA%20H200") != std::string::npos);
  CHECK(text.find("winner code_digest=d1 config=dense_vector=4%20tile_rows=8 ") != std::string::npos);
  CHECK(text.find("median_us=0.3333333333333333 ") != std::string::npos);
}

TEST_CASE("a text that is no dump is refused by line, and nothing of it is stored") {
  const TemporaryFolder folder;
  const std::string good = dump(filled(folder / "c"));
  const auto refusal = [&](const std::string& text) {
    try {
      load(text, folder / "copy.db");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_argument);
      CHECK(dump(folder / "copy.db") == "vostok tuning 1\n");
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const auto lines = std::to_string(std::count(good.begin(), good.end(), '\n') + 1);
  CHECK(refusal("vostok tuning 2\n").find("line 1") != std::string::npos);
  CHECK(refusal(good + "diary day=1\n").find("line " + lines + ": there is no table diary") != std::string::npos);
  CHECK(refusal(good + "winner family\n").find("field=value") != std::string::npos);
  CHECK(refusal(good + "winner family=row_tile\n").find("is missing") != std::string::npos);
  CHECK(refusal(good + "device colour=red\n").find("device has no field colour") != std::string::npos);
  CHECK(refusal(good + "device architecture=sm_90 id=1 l2_bytes=1 memory_bytes=many multiprocessors=1 name=a uuid=b\n")
            .find("memory_bytes = many") != std::string::npos);
  CHECK(refusal(good + "winner problem=nobody\n").find("no problem has the id nobody") != std::string::npos);
}
