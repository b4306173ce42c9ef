#include "plan/nearest.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace vostok;
using namespace vostok::plan;

namespace {

Features features() {
  return {.m = 1024, .k = 512, .n = 64, .nonzeros = 52429, .longest_row = 80, .row_variation = 0.25};
}

ProblemKey key() { return {.operation = "spmm", .exact = "element=f32", .features = features()}; }

DeviceKey gpu(const std::string& uuid, const std::string& architecture = "sm_90", int multiprocessors = 132) {
  return {.uuid = uuid,
          .name = "GPU of " + architecture,
          .architecture = architecture,
          .multiprocessors = multiprocessors,
          .memory_bytes = 1000};
}

StoredWinner row(const std::string& label, const DeviceKey& where, const Features& of, int layer = 0,
                 bool shipped = false) {
  return {.winner = {.family = label}, .device = where, .features = of, .layer = layer, .shipped = shipped};
}

Features with_n(std::int64_t n) {
  Features changed = features();
  changed.n = n;
  return changed;
}

}  // namespace

TEST_CASE("the distance of problems is zero for equal ones, symmetric, and grows with each feature") {
  CHECK(problem_distance(features(), features()) == 0);
  const auto check_grows = [](auto change) {
    Features near = features();
    Features far = features();
    change(near, 2);
    change(far, 4);
    CHECK(problem_distance(features(), near) > 0);
    CHECK(problem_distance(features(), far) > problem_distance(features(), near));
    CHECK(problem_distance(features(), far) == problem_distance(far, features()));
  };
  check_grows([](Features& f, int by) { f.m *= by, f.nonzeros *= by; });
  check_grows([](Features& f, int by) { f.k *= by, f.nonzeros *= by; });
  check_grows([](Features& f, int by) { f.n *= by; });
  check_grows([](Features& f, int by) { f.nonzeros *= by, f.longest_row *= by; });
  check_grows([](Features& f, int by) { f.longest_row *= by; });
  check_grows([](Features& f, int by) { f.row_variation *= by; });
  Features narrow = features();
  narrow.index = "u16";
  CHECK(problem_distance(features(), narrow) > 0);
}

TEST_CASE("what lies within the farthest distance lies within reach of each size") {
  for (const std::int64_t size :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{3}, std::int64_t{1000}, std::int64_t{1} << 40}) {
    const Range range = reach(size, ProblemWeights::n);
    for (std::int64_t other = size / 4; other <= size * 4 + 4; other += 1 + size / 16) {
      Features a = features();
      Features b = features();
      a.n = size;
      b.n = other;
      CAPTURE(size);
      CAPTURE(other);
      if (problem_distance(a, b) <= farthest_problem) CHECK((range.least <= other && other <= range.most));
    }
  }
  CHECK(reach(std::numeric_limits<std::int64_t>::max(), ProblemWeights::m).most > 0);
}

TEST_CASE("candidates come in the documented order") {
  const auto here = gpu("here");
  const auto found =
      best_first({row("older gpu", gpu("x", "sm_80", 108), features()), row("near", here, with_n(80)),
                  row("nearer", gpu("y"), with_n(72)), row("shipped", gpu("vendor"), features(), 2, true),
                  row("fleet", gpu("y"), features(), 1), row("here, second layer", here, features(), 1),
                  row("here", here, features(), 0), row("too far", here, with_n(1024)),
                  row("another problem elsewhere", gpu("x", "sm_80", 108), with_n(72))},
                 key(), here);
  std::vector<std::string> order;
  order.reserve(found.size());
  for (const WinnerMatch& match : found) order.push_back(match.winner.family);
  CHECK(order ==
        std::vector<std::string>{"here", "here, second layer", "fleet", "shipped", "nearer", "near", "older gpu"});
  REQUIRE(found.size() == 7);
  CHECK(found[0].provenance == Provenance::tuned_here);
  CHECK(found[2].provenance == Provenance::tuned_elsewhere);
  CHECK(found[3].provenance == Provenance::shipped);
  CHECK(found[4].provenance == Provenance::nearest_problem);
  CHECK(found[6].provenance == Provenance::nearest_device);
  CHECK(found[6].distance > 0);
}

TEST_CASE(
    "choices for the plain problem come behind those for the whole one and before neighbours, whose distance counts "
    "first") {
  const auto here = gpu("here");
  const auto plain = [](StoredWinner stored) {
    stored.plain = true;
    return stored;
  };
  const auto found = best_first(
      {plain(row("plain near", here, with_n(66))), row("near", here, with_n(80)),
       plain(row("plain alike", here, with_n(80))), plain(row("plain shipped", gpu("vendor"), features(), 2, true)),
       plain(row("plain", here, features())), row("shipped", gpu("vendor"), features(), 2, true),
       plain(row("plain older gpu", gpu("x", "sm_80", 108), features()))},
      key(), here);
  std::vector<std::string> order;
  for (const WinnerMatch& match : found) {
    order.push_back(match.winner.family);
    CHECK(match.plain == match.winner.family.starts_with("plain"));
  }
  CHECK(order == std::vector<std::string>{"shipped", "plain", "plain shipped", "plain near", "near", "plain alike",
                                          "plain older gpu"});
  CHECK(found.at(1).provenance == Provenance::tuned_here);
  CHECK(found.at(2).provenance == Provenance::shipped);
  CHECK(found.at(3).provenance == Provenance::nearest_problem);
  CHECK(without_neighbours(found).size() == 3);
}

TEST_CASE("near problems of another model serve where its multiprocessors are the same in kind and number") {
  DeviceKey sibling = gpu("other");
  sibling.name = "another model";
  const DeviceKey here = gpu("here");
  const std::vector<StoredWinner> near = {row("near", sibling, with_n(96))};
  const std::vector<WinnerMatch> found = best_first(near, key(), here);
  REQUIRE(found.size() == 1);
  CHECK(found[0].provenance == Provenance::nearest_device);
  CHECK(found[0].distance == problem_distance(with_n(96), features()));
  for (const int multiprocessors : {114, 131}) {
    DeviceKey smaller = sibling;
    smaller.multiprocessors = multiprocessors;
    CHECK(best_first({row("near", smaller, with_n(96))}, key(), here).empty());
  }
  CHECK(best_first({row("far", sibling, with_n(64 * 64))}, key(), here).empty());
  // Behind the same problem on that model, which comes before near ones of this model.
  const auto first = [&](std::vector<StoredWinner> rows) { return best_first(rows, key(), here)[0].winner.family; };
  CHECK(first({row("near", sibling, with_n(96)), row("same", sibling, features())}) == "same");
  CHECK(first({row("near here", here, with_n(66)), row("same", sibling, features())}) == "same");
  CHECK(first({row("near here", here, with_n(66)), row("same", gpu("x", "sm_80", 108), features())}) == "near here");
}

TEST_CASE("neighbours are few, and the emulator is no GPU's neighbour") {
  std::vector<StoredWinner> rows;
  for (std::int64_t n = 65; n < 85; ++n) rows.push_back(row("n" + std::to_string(n), gpu("here"), with_n(n)));
  const auto found = best_first(rows, key(), gpu("here"));
  REQUIRE(found.size() == most_neighbours);
  CHECK(found[0].winner.family == "n65");
  CHECK(best_first({row("gpu", gpu("x"), features())}, key(), gpu("cpu", "emulator", 2)).empty());
  CHECK(best_first({row("far", gpu("x", "sm_75", 16), features())}, key(), gpu("here")).empty());
}

TEST_CASE("GPUs of one name are one model while their memory differs by less than a tenth") {
  DeviceKey other = gpu("other");
  CHECK(same_model(gpu("here"), other));
  other.memory_bytes = 1060;  // what a driver keeps for itself differs
  CHECK(same_model(gpu("here"), other));
  other.memory_bytes = 1800;
  CHECK_FALSE(same_model(gpu("here"), other));
  CHECK_FALSE(same_model(other, gpu("here")));
}

TEST_CASE("a feature that is not a number is nobody's neighbour") {
  Features broken = features();
  broken.row_variation = std::nan("");
  CHECK(best_first({row("broken", gpu("here"), broken)}, key(), gpu("here")).empty());
}
