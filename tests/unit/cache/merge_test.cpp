// Merging is commutative.
#include "cache/merge.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "cache/code_rows.hpp"
#include "cache/dump.hpp"
#include "cache/schema.hpp"
#include "cache/versions.hpp"
#include "unit/cache/rows.hpp"

using namespace vostok;
using namespace vostok::cache;
using namespace vostok::cache::testing;

namespace {

template <class Value>
Value one_of(std::minstd_rand& random, std::initializer_list<Value> values) {
  return *(values.begin() + random() % values.size());
}

/// Rows that often share a name with those of another such content, and differ in the rest.
TuningContent random_content(std::minstd_rand& random) {
  TuningContent content;
  for (int i = 0; i < 40; ++i) {
    auto trial = trial_row(one_of(random, {"1", "2", "4"}), one_of(random, {1.0, 2.0}), one_of(random, {3, 15}),
                           one_of(random, {"GPU-a", "GPU-b"}));
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
    content.errata.push_back({.id = one_of(random, {"E1", "E2"}),
                              .reason = one_of(random, {"slow", "wrong"}),
                              .created_at = one_of(random, {1, 2})});
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
  const auto merge_two = [](const TrialRow& a, const TrialRow& b) {
    return only(merged({.trials = {a}}, {.trials = {b}})).trial;
  };
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
    opening.code().put(
        sample_entry("twin"),
        sample_image(own_key == std::string("a") ? 700 : 900));  // by one compiler, of one key, and not the same
    return folder / name / "code.db";
  };
  const auto a = fill("a", "nvrtc 12.9", "a");
  const auto b = fill("b", "nvrtc 13.0.88", "b");
  Connection(a, Access::read_write, 1000)
      .execute("UPDATE code SET symbol = 'other' WHERE key = 'damaged'; UPDATE code SET last_use = 5");
  Connection(b, Access::read_write, 1000).execute("UPDATE code SET last_use = 7");
  const auto merge_files = [&](const std::filesystem::path& x, const std::filesystem::path& y,
                               const std::filesystem::path& out) {
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
  CHECK(code_keys(merged_file) == std::vector<std::string>{"a", "b", "damaged", "shared", "twin"});
  const CodeRow shared = code_row(merged_file, "shared").value_or(CodeRow{});
  CHECK(shared.entry.compiler == "nvrtc 13.0.88");
  CHECK(shared.last_use == 7);
  CHECK(code_row(merged_file, "damaged").value_or(CodeRow{}).is_intact);
}
