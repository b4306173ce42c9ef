#include "base/log.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <vostok/context.hpp>

#include "base/single_flight.hpp"

using namespace vostok;

TEST_CASE("a sink may log, and wait for another thread that logs") {
  std::vector<std::string> lines;
  Logger* logger = nullptr;
  Logger made([&](LogLevel, std::string_view line) {
    lines.emplace_back(line);
    if (line != "first") return;
    logger->warning("again");
    std::async(std::launch::async, [&] { logger->warning_once("from another thread"); }).get();
  });
  logger = &made;
  made.warning_once("first");
  CHECK(lines == std::vector<std::string>{"first", "again", "from another thread"});
}

TEST_CASE("a sink is called by several threads at once, once for each line") {
  constexpr int threads = 4, lines_of_each = 200;
  std::atomic<int> lines = 0, together = 0;
  std::atomic<bool> overlapped = false;
  Logger logger([&](LogLevel, std::string_view line) {
    overlapped = overlapped || ++together > 1;
    if (line.size() == 4) ++lines;
    std::this_thread::yield();
    --together;
  });
  std::vector<std::jthread> writers;
  for (int i = 0; i < threads; ++i)
    writers.emplace_back([&] {
      for (int line = 0; line < lines_of_each; ++line) logger.info("line");
    });
  writers.clear();
  CHECK(lines == threads * lines_of_each);
  MESSAGE("calls of the sink overlapped: ", overlapped.load());
}

TEST_CASE("a computation that comes back for its own key does not wait for itself, and the outer value is kept") {
  SingleFlight<std::string, int> flights;
  int depth = 0;
  const std::function<int()> make = [&] {
    if (++depth > 1) return depth;
    return 10 * *flights.get("key", make);
  };
  CHECK(*flights.get("key", make) == 20);
  CHECK(*flights.find("key") == 20);
}
