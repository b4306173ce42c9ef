#include "base/single_flight.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace vostok;

TEST_CASE("callers of one key share one computation, those of others have their own") {
  SingleFlight<std::string, int> memo;
  constexpr std::size_t callers = 16;
  std::latch together(callers);
  std::atomic<int> made = 0;
  std::vector<std::shared_ptr<const int>> found(callers);
  {
    std::vector<std::jthread> threads;
    threads.reserve(callers);
    for (std::size_t i = 0; i < callers; ++i)
      threads.emplace_back([&, i] {
        together.arrive_and_wait();
        found[i] = memo.get(i % 2 == 0 ? "even" : "odd", [&] { return ++made; });
      });
  }
  CHECK(made == 2);
  for (std::size_t i = 2; i < callers; ++i) CHECK(found[i] == found[i % 2]);
  CHECK(found[0] != found[1]);
}

TEST_CASE("callers that wait for one that fails try again, one at a time, and the error is not kept") {
  SingleFlight<int, int> memo;
  std::latch making(1), waiting(1);
  std::jthread failing([&] {
    CHECK_THROWS_AS(memo.get(1,
                             [&]() -> int {
                               making.count_down();
                               waiting.wait();
                               throw std::runtime_error("no");
                             }),
                    std::runtime_error);
  });
  making.wait();
  CHECK(memo.find(1) == nullptr);  // being made
  std::atomic<int> made = 0;
  std::jthread second([&] { CHECK(*memo.get(1, [&] { return 10 + ++made; }) == 11); });
  waiting.count_down();
  failing.join();
  second.join();
  CHECK(*memo.get(1, [] { return 99; }) == 11);
  CHECK(made == 1);
}

TEST_CASE("a computation that comes back for its own key makes the value twice, and the outer one is kept") {
  SingleFlight<int, int> memo;
  const auto outer = memo.get(7, [&] {
    CHECK(*memo.get(7, [] { return 1; }) == 1);
    return 2;
  });
  CHECK(*outer == 2);
  CHECK(memo.find(7) == outer);
}

TEST_CASE("what is erased or cleared is made again, but for what is being made") {
  SingleFlight<int, int> memo;
  const auto first = memo.get(1, [] { return 1; });
  memo.erase(1);
  memo.erase(5);  // never there
  CHECK(memo.find(1) == nullptr);
  CHECK(*first == 1);
  CHECK(*memo.get(1, [] { return 2; }) == 2);
  memo.get(2, [&] {
    memo.clear();
    memo.erase(2);
    return 3;
  });
  CHECK(memo.find(1) == nullptr);
  REQUIRE(memo.find(2));
  CHECK(*memo.find(2) == 3);
}
