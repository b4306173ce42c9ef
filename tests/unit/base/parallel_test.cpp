// Work on several threads: each item once, whatever the counts.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/each_in_turn.hpp"
#include "base/in_parts.hpp"

using namespace vostok;

TEST_CASE("parts cover every item once, none is smaller than asked for unless it is the only one") {
  for (const std::int64_t count : {0, 1, 7, 8, 63, 64, 65, 1000})
    for (const std::int64_t least : {1, 8, 64, 2000}) {
      CAPTURE(count);
      CAPTURE(least);
      std::mutex mutex;
      std::vector<std::pair<std::int64_t, std::int64_t>> parts;
      in_parts(count, least, [&](std::int64_t begin, std::int64_t end) {
        const std::lock_guard lock(mutex);
        parts.emplace_back(begin, end);
      });
      std::sort(parts.begin(), parts.end());
      std::int64_t at = 0;
      for (const auto& [begin, end] : parts) {
        CHECK(begin == at);
        at = end;
      }
      CHECK(at == count);
      CHECK(parts.size() <= std::max(1U, std::thread::hardware_concurrency()));
      CHECK(static_cast<std::int64_t>(parts.size()) <= 1 + count / least);
    }
}

TEST_CASE("items are taken once each, by no more threads than are asked for or there are items") {
  for (const std::size_t count : {0U, 1U, 5U, 100U})
    for (const std::size_t threads : {0U, 1U, 3U, 200U}) {
      CAPTURE(count);
      CAPTURE(threads);
      std::vector<std::atomic<int>> taken(count);
      std::mutex mutex;
      std::set<std::thread::id> workers;
      each_in_turn(count, threads, [&](std::size_t i) {
        ++taken[i];
        const std::lock_guard lock(mutex);
        workers.insert(std::this_thread::get_id());
      });
      for (const std::atomic<int>& times : taken) CHECK(times == 1);
      CHECK(workers.size() <= std::max<std::size_t>(1, std::min(threads, count)));
    }
}
