#include "tune/compile_ahead.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace vostok;
using tune::CompileAhead;

namespace {

class Digests : public tune::Subject {
 public:
  tune::Compiled compile(const tune::Candidate& candidate) override { return {.code_digest = candidate.family}; }
  std::optional<std::string> verify(const tune::Compiled&) override { return std::nullopt; }
};

std::set<std::size_t> compiled(CompileAhead::Clock::time_point deadline, std::size_t needed, int threads) {
  Digests subject;
  const std::vector<tune::Candidate> candidates(6, {.family = "fake"});
  CompileAhead compiles(subject, candidates, {3, 1, 0, 2, 5, 4}, threads, needed, deadline);
  std::set<std::size_t> positions;
  while (auto result = compiles.next()) positions.insert(result->candidate);
  return positions;
}

}  // namespace

TEST_CASE("without a deadline every candidate is compiled") {
  for (const int threads : {1, 3}) CHECK(compiled(CompileAhead::Clock::time_point::max(), 0, threads).size() == 6);
}

TEST_CASE("past the deadline only what is needed is compiled, and nobody waits for the rest") {
  const auto past = CompileAhead::Clock::now() - std::chrono::seconds(1);
  for (const int threads : {1, 3}) {
    CHECK(compiled(past, 2, threads) == std::set<std::size_t>{3, 1});
    CHECK(compiled(past, 0, threads).empty());
  }
}

TEST_CASE("a candidate whose compile ends for want of memory is untested, not failed") {
  struct Failing : Digests {
    tune::Compiled compile(const tune::Candidate& candidate) override {
      throw Error(candidate.is_default ? ErrorCode::out_of_memory : ErrorCode::compile_failed, "planted");
    }
  } subject;
  const std::vector<tune::Candidate> candidates = {{.family = "fake", .is_default = true}, {.family = "fake"}};
  CompileAhead compiles(subject, candidates, {0, 1}, 1, 0, CompileAhead::Clock::time_point::max());
  const tune::Result first = compiles.next().value_or(tune::Result{});
  const tune::Result second = compiles.next().value_or(tune::Result{});
  CHECK(first.status == "untested");
  CHECK(second.status == "compile_failed");
  CHECK(second.reason == "planted");
}
