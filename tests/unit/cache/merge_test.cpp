// Merging is commutative, and winners can be chosen again from trials.
#include "cache/merge.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "cache/code_rows.hpp"
#include "cache/dump.hpp"
#include "cache/rank.hpp"
#include "cache/schema.hpp"
#include "cache/versions.hpp"
#include "unit/cache/fixture.hpp"

using namespace vostok;
using namespace vostok::cache;
using namespace vostok::cache::testing;

namespace {

TrialRow trial_row(const std::string& tile_rows, double median_us, int rounds = 15, const std::string& uuid = "GPU-a") {
  TrialRow row{.problem = sample_problem(), .device = sample_device(uuid), .trial = sample_trial(tile_rows)};
  row.trial.is_default = tile_rows == "1";
  row.trial.median_us = median_us;
  row.trial.spread_us = 0.01;
  row.trial.rounds = rounds;
  row.trial.code_digest = "code" + tile_rows;
  return row;
}

WinnerRow winner_row(const std::string& tile_rows, const std::string& uuid = "GPU-a") {
  WinnerRow row{.problem = sample_problem(), .device = sample_device(uuid), .winner = sample_winner(tile_rows), .decided_at = 1700000000};
  row.winner.code_digest = "code" + tile_rows;
  return row;
}

template <class Value>
Value one_of(std::minstd_rand& random, std::initializer_list<Value> values) {
  return *(values.begin() + random() % values.size());
}

/// Rows that often share a name with those of another such content, and differ in the rest.
TuningContent random_content(std::minstd_rand& random) {
  TuningContent content;
  for (int i = 0; i < 40; ++i) {
    auto trial = trial_row(one_of(random, {"1", "2", "4"}), one_of(random, {1.0, 2.0}), one_of(random, {3, 15}), one_of(random, {"GPU-a", "GPU-b"}));
    trial.problem.features.n = one_of(random, {8, 64});
    trial.trial.status = one_of(random, {"measured", "measured", "faulted"});
    trial.trial.registers = static_cast<int>(random() % 3);
    trial.device.memory_bytes += static_cast<std::int64_t>(random() % 2);
    content.trials.push_back(trial);
    auto winner = winner_row(one_of(random, {"1", "2"}), one_of(random, {"GPU-a", "GPU-b"}));
    winner.winner.library_version = one_of(random, {"0.9.0", "0.10.0"});
    winner.winner.rounds = one_of(random, {3, 15});
    winner.winner.median_us = one_of(random, {1.0, 2.0});
    content.winners.push_back(winner);
    content.errata.push_back({.id = one_of(random, {"E1", "E2"}), .reason = one_of(random, {"slow", "wrong"}), .created_at = one_of(random, {1, 2})});
  }
  return content;
}

/// As a file holds it: one row of each name.
TuningContent stored(const TuningContent& content, const std::filesystem::path& path) {
  write_content(content, path);
  return read_content(path);
}

std::string merged_bytes(const TuningContent& a, const TuningContent& b, const std::filesystem::path& path) {
  write_content(merged(a, b), path);
  return contents(path);
}

const TrialRow& only(const TuningContent& content) {
  REQUIRE(content.trials.size() == 1);
  return content.trials.front();
}

std::string winning_tile(const Ranking& ranking) {
  REQUIRE(ranking.content.winners.size() == 1);
  return ranking.content.winners.front().winner.config.at("tile_rows");
}

}  // namespace

TEST_CASE("merge A B and merge B A give the same bytes, whatever the rows") {
  const TemporaryFolder folder;
  for (unsigned seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    std::minstd_rand random(seed);
    const TuningContent a = stored(random_content(random), folder / "a");
    const TuningContent b = stored(random_content(random), folder / "b");
    const TuningContent c = stored(random_content(random), folder / "c");
    const std::string file = merged_bytes(a, b, folder / "ab");
    CHECK(file == merged_bytes(b, a, folder / "ba"));
    CHECK(dump(folder / "ab") == dump(folder / "ba"));
    CHECK(merged_bytes(merged(a, b), c, folder / "abc") == merged_bytes(a, merged(c, b), folder / "acb"));
    CHECK(merged_bytes(merged(a, b), a, folder / "aba") == file);
    CHECK(dump(folder / "ab").find("GPU-b") != std::string::npos);
  }
}

TEST_CASE("of two trials of one code, more rounds decide, then the smaller median") {
  const auto merge_two = [](const TrialRow& a, const TrialRow& b) { return only(merged({.trials = {a}}, {.trials = {b}})).trial; };
  CHECK(merge_two(trial_row("8", 9, 15), trial_row("8", 5, 3)).median_us == 9);
  CHECK(merge_two(trial_row("8", 9, 15), trial_row("8", 5, 15)).median_us == 5);
  SUBCASE("but a failure stands, however often it seemed to work elsewhere") {
    auto failed = trial_row("8", 1, 0);
    failed.trial.status = "wrong";
    CHECK(merge_two(failed, trial_row("8", 9, 15)).status == "wrong");
    CHECK(merge_two(trial_row("8", 9, 15), failed).status == "wrong");
  }
}

TEST_CASE("of two winners the newer library's stays, then that of more rounds, then the faster") {
  const auto merge_two = [](const WinnerRow& a, const WinnerRow& b) {
    const auto content = merged({.winners = {a}}, {.winners = {b}});
    REQUIRE(content.winners.size() == 1);
    return content.winners.front().winner.config.at("tile_rows");
  };
  auto a = winner_row("2");
  auto b = winner_row("4");
  a.winner.library_version = "0.10.0";
  b.winner.library_version = "0.9.7";
  b.winner.rounds = a.winner.rounds + 1;
  CHECK(merge_two(a, b) == "2");
  a.winner.library_version = b.winner.library_version;
  CHECK(merge_two(a, b) == "4");
  b.winner.rounds = a.winner.rounds;
  b.winner.median_us = a.winner.median_us / 2;
  CHECK(merge_two(a, b) == "4");
}

TEST_CASE("versions are compared by their numbers") {
  CHECK(is_newer("0.10.0", "0.9.9"));
  CHECK(is_newer("1.0", "0.99"));
  CHECK(is_newer("nvrtc 13.0.88", "nvrtc 13.0.9"));
  CHECK(is_newer("0.1.1", "0.1"));
  CHECK_FALSE(is_newer("0.1.0", "0.1.0"));
  CHECK_FALSE(is_newer("", "0"));
}

TEST_CASE("kernels are merged by key, the newer compiler's stays, and either order gives the same bytes") {
  const TemporaryFolder folder;
  const auto fill = [&](const char* name, const char* compiler, const char* own_key) {
    Opening opening(in_folder(folder / name));
    auto shared = sample_entry("shared");
    shared.compiler = compiler;
    opening.code().put(shared, sample_image(std::string(compiler).size() * 100));
    opening.code().put(sample_entry(own_key), sample_image());
    opening.code().put(sample_entry("damaged"), sample_image());
    return folder / name / "code.db";
  };
  const auto a = fill("a", "nvrtc 12.9", "a");
  const auto b = fill("b", "nvrtc 13.0.88", "b");
  Connection(a, Access::read_write, 1000).execute("UPDATE code SET symbol = 'other' WHERE key = 'damaged'; UPDATE code SET last_use = 5");
  Connection(b, Access::read_write, 1000).execute("UPDATE code SET last_use = 7");
  const auto merge_files = [&](const std::filesystem::path& x, const std::filesystem::path& y, const std::filesystem::path& out) {
    Connection first(x, Access::read_only, 1000);
    Connection second(y, Access::read_only, 1000);
    Connection merged_file(out, Access::read_write, 1000);
    make_schema(merged_file, Content::code);
    merge_code(first, second, merged_file);
  };
  merge_files(a, b, folder / "ab");
  merge_files(b, a, folder / "ba");
  CHECK(contents(folder / "ab") == contents(folder / "ba"));
  Connection merged_file(folder / "ab", Access::read_only, 1000);
  CHECK(code_keys(merged_file) == std::vector<std::string>{"a", "b", "damaged", "shared"});
  CHECK(code_row(merged_file, "shared")->entry.compiler == "nvrtc 13.0.88");
  CHECK(code_row(merged_file, "shared")->last_use == 7);
  CHECK(code_row(merged_file, "damaged")->is_intact);
}

TEST_CASE("rank chooses as the tuner does, and the same trials in any order give the same bytes") {
  const TemporaryFolder folder;
  std::vector<TrialRow> trials = {trial_row("1", 12), trial_row("2", 10), trial_row("4", 10.1), trial_row("8", 9, 3)};
  std::minstd_rand random(5);
  std::string first;
  for (int i = 0; i < 6; ++i) {
    std::shuffle(trials.begin(), trials.end(), random);
    const Ranking ranking = ranked({.trials = trials}, {});
    CHECK(winning_tile(ranking) == "2");  // within 2 % of 10, the text that sorts first; 9 us of three rounds is no evidence
    CHECK(ranking.content.winners.front().winner.default_median_us == 12);
    CHECK(ranking.changes.size() == 1);
    write_content(ranking.content, folder / "ranked");
    if (i == 0) first = contents(folder / "ranked");
    CHECK(contents(folder / "ranked") == first);
  }
  SUBCASE("a winner that stays is no change, and is the same row") {
    const Ranking again = ranked(read_content(folder / "ranked"), {});
    CHECK(again.changes.empty());
    write_content(again.content, folder / "again");
    CHECK(contents(folder / "again") == first);
  }
  SUBCASE("a wider tie goes to the default") { CHECK(winning_tile(ranked({.trials = trials}, {.tie = 0.3})) == "1"); }
  SUBCASE("another policy's problems are left alone") {
    const Ranking cold = ranked({.trials = trials, .winners = {winner_row("16")}}, {.policy = "cold"});
    CHECK(winning_tile(cold) == "16");
    CHECK(cold.subjects == 0);
  }
  SUBCASE("code that failed anywhere does not win") {
    auto failed = trial_row("2", 1, 0, "GPU-other");
    failed.trial.status = "hung";
    trials.push_back(failed);
    CHECK(winning_tile(ranked({.trials = trials}, {})) == "4");
  }
  SUBCASE("what was only raced, and not verified, does not win") {
    for (TrialRow& row : trials)
      if (row.trial.code_digest == "code2") row.trial.reason = plan::not_verified;
    CHECK(winning_tile(ranked({.trials = trials}, {})) == "4");
  }
  SUBCASE("what an erratum masks does not win") {
    CHECK(winning_tile(ranked({.trials = trials, .errata = {{.id = "E1", .config = {{"tile_rows", "2"}}}}}, {})) == "4");
  }
  SUBCASE("newer code of the same config stands for it, slower or not") {
    auto newer = trial_row("2", 30);
    newer.trial.code_digest = "newer code";
    newer.trial.measured_at += 60;
    trials.push_back(newer);
    CHECK(winning_tile(ranked({.trials = trials}, {})) == "4");
    const auto stale = stale_trials(trials);
    REQUIRE(stale.size() == 1);
    CHECK(stale.front()->trial.code_digest == "code2");
  }
}
