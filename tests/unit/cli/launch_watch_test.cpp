// What is told of a run on the emulator that takes long.
#include "cli/launch_watch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>

#include "contains.hpp"

namespace vostok::cli {
namespace {

using std::chrono::milliseconds;
using test::contains;

TEST_CASE("a phase tells what it is, how much of it is done, and how long the rest takes") {
  CHECK(phase_text({.what = "measuring", .seconds = 40, .progress = {.ended = 4, .share = 0.5}, .launches = 20}) ==
        "measuring for 40 s: 22 % done, about 138 s left");
  CHECK(phase_text({.what = "measuring", .seconds = 40, .progress = {.ended = 20}, .launches = 20}) ==
        "measuring for 40 s: 100 % done, about 0 s left");
  CHECK(phase_text({.what = "measuring", .seconds = 40, .progress = {.ended = 25}, .launches = 20}) ==
        "measuring for 40 s: 100 % done, about 0 s left");
  CHECK(phase_text({.what = "verifying", .seconds = 10, .progress = {.ended = 0, .share = 0.25}}) ==
        "verifying for 10 s: 25 % of launch 1 done, about 30 s left of it");
  CHECK(phase_text({.what = "making operands", .seconds = 5}) == "making operands for 5 s");
}

TEST_CASE("what takes longer than the patience is told, again and again, and each phase counts its own launches") {
  std::atomic<std::int64_t> ended = 7;
  std::mutex mutex;
  std::condition_variable told;
  std::vector<std::string> texts;
  const auto tell = [&](const std::string& text) {
    const std::lock_guard lock(mutex);
    texts.push_back(text);
    told.notify_all();
  };
  const auto wait_for = [&](const std::string& part) {
    std::unique_lock lock(mutex);
    const auto is_told = [&] {
      return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) { return contains(text, part); });
    };
    return told.wait_for(lock, std::chrono::minutes(1), is_told);  // only bounds a hang
  };
  LaunchWatch watch([&] { return device::LaunchProgress{.ended = ended, .share = 0.5}; }, tell, milliseconds(1),
                    milliseconds(1));
  watch.begin("verifying", 1);
  CHECK(wait_for("verifying for 0 s: 50 % of launch 1 done"));
  ended += 2;  // one execute has two launches
  watch.begin("measuring", 5);
  CHECK(wait_for("measuring for 0 s: 5 % done"));
  ended += 5;
  CHECK(wait_for("measuring for 0 s: 55 % done"));
}

TEST_CASE("a device that tells no progress is not watched") {
  std::atomic<int> told = 0;
  {
    LaunchWatch watch([] { return std::nullopt; }, [&](const std::string&) { ++told; }, milliseconds(0),
                      milliseconds(0));
    watch.begin("verifying", 1);
  }
  CHECK(told == 0);
}

TEST_CASE("what ends within the patience is not told") {
  std::atomic<int> told = 0;
  {
    LaunchWatch watch([] { return device::LaunchProgress{}; }, [&](const std::string&) { ++told; },
                      std::chrono::hours(1), std::chrono::hours(1));
    watch.begin("verifying", 1);
  }
  CHECK(told == 0);
}

}  // namespace
}  // namespace vostok::cli
