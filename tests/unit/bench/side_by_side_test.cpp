#include <doctest/doctest.h>

#include <vector>

#include "base/text.hpp"
#include "bench/harness/side_by_side.hpp"
#include "unit/fakes/fake_device.hpp"

namespace vostok::bench {
namespace {

constexpr int rounds = 7;

/// A contender whose calls are noted as `launch`.
Contender contender(test::FakeDevice& device, int launch) {
  return {.name = std::to_string(launch), .enqueue = [&device, launch](Stream) { device.note(launch); }};
}

TEST_CASE("each contender's time is per call, and its sequence lasts about a millisecond") {
  test::FakeDevice device;
  device.cost_us = [](int launch) { return launch == 0 ? 10.0 : 200.0; };
  const auto results = time_side_by_side(device, {contender(device, 0), contender(device, 1)}, rounds);
  REQUIRE(results.size() == 2);
  CHECK(results[0].timing->median_us == doctest::Approx(10));
  CHECK(results[0].timing->launches == 50);
  CHECK(results[1].timing->median_us == doctest::Approx(200));
  CHECK(results[1].timing->launches == 5);
  CHECK(results[1].timing->rounds == rounds);
  CHECK(results[1].timing->spread_us == doctest::Approx(0));
}

TEST_CASE("a contender that reads copies in turn reads each equally often in a replay") {
  test::FakeDevice device;
  device.cost_us = [](int) { return 100.0; };
  int next = 0;
  const Contender turning{.name = "turning", .enqueue = [&](Stream) { device.note(next++ % 7); }, .period = 7};
  const auto results = time_side_by_side(device, {turning}, rounds);
  CHECK(results[0].timing->launches == 14);
  CHECK(results[0].timing->median_us == doctest::Approx(100));
}

TEST_CASE("a contender that throws has a failure, and the others are timed") {
  test::FakeDevice device;
  const Contender broken{.name = "broken",
                         .enqueue = [](Stream) { fail(ErrorCode::unsupported, "cannot do this one"); }};
  const auto results = time_side_by_side(device, {contender(device, 0), broken, contender(device, 1)}, rounds);
  CHECK(results[0].timing);
  CHECK_FALSE(results[1].timing);
  CHECK(results[1].failure == "cannot do this one");
  CHECK(results[2].timing);
  CHECK(time_side_by_side(device, {broken}, rounds).front().failure == "cannot do this one");
}

TEST_CASE("rounds interleave the contenders and begin with another each time") {
  test::FakeDevice device;
  std::vector<int> order;
  bool seen = false;  // by the replay that is running
  device.on_replay = [&] { seen = false; };
  device.cost_us = [&](int launch) {
    if (!seen) order.push_back(launch);
    seen = true;
    return 500.0;
  };
  time_side_by_side(device, {contender(device, 0), contender(device, 1), contender(device, 2)}, rounds);
  REQUIRE(order.size() > 3 * rounds);
  const std::vector<int> measured(order.end() - 3 * rounds, order.end());
  CHECK(std::vector<int>(measured.begin(), measured.begin() + 9) == std::vector<int>{0, 1, 2, 1, 2, 0, 2, 0, 1});
}

TEST_CASE("a round in which the clock moved is not counted") {
  test::FakeDevice device;
  device.clocks_now = device::Clocks{.sm_mhz = 1980, .memory_mhz = 3201};
  // Every fifth replay runs at a lower clock: of any seven rounds one would meet it.
  device.on_replay = [&] { device.clocks_now->sm_mhz = device.replays % 5 == 0 ? 1000 : 1980; };
  device.cost_us = [&](int) { return device.clocks_now->sm_mhz < 1980 ? 5000.0 : 100.0; };
  const auto results = time_side_by_side(device, {contender(device, 0)}, rounds);
  CHECK(results[0].timing->median_us == doctest::Approx(100));
  CHECK(results[0].timing->spread_us == doctest::Approx(0));
}

}  // namespace
}  // namespace vostok::bench
