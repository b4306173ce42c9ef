// A session over a fake device and in-memory stores.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "error_code.hpp"
#include "plan/nearest.hpp"
#include "plan/planner.hpp"
#include "sparse/generate.hpp"
#include "unit/fakes/fake_device.hpp"

namespace vostok::test {

/// Answers `find` with what a test puts there; keeps what is added.
class ScriptedTuning : public plan::TuningStore {
 public:
  std::vector<plan::WinnerMatch> matches;
  std::vector<plan::TrialRecord> added;
  std::vector<plan::WinnerRecord> winners;
  std::map<std::string, plan::CodeStanding> standings;
  std::vector<plan::MaskedWinner> hidden;
  int finds = 0;       ///< with neighbours
  int same_finds = 0;  ///< of the problem alone
  int additions = 0;

  virtual std::vector<plan::WinnerMatch> matches_of(const plan::ProblemKey&) const { return matches; }
  std::vector<plan::WinnerMatch> find(const plan::ProblemKey& problem, const plan::DeviceKey&) override {
    ++finds;
    return matches_of(problem);
  }
  std::vector<plan::WinnerMatch> find_same(const plan::ProblemKey& problem, const plan::DeviceKey&) override {
    ++same_finds;
    return plan::without_neighbours(matches_of(problem));
  }
  std::vector<plan::MaskedWinner> masked(const plan::ProblemKey&, const plan::DeviceKey&) override { return hidden; }
  std::vector<plan::TrialRecord> trials(const plan::ProblemKey&, const plan::DeviceKey&) override { return added; }
  plan::CodeStanding standing(const std::string& code_digest) override {
    const auto position = standings.find(code_digest);
    return position == standings.end() ? plan::CodeStanding{} : position->second;
  }
  void add_trials(const plan::ProblemKey&, const plan::DeviceKey&, std::span<const plan::TrialRecord> trials) override {
    ++additions;
    added.insert(added.end(), trials.begin(), trials.end());
  }
  void set_winner(const plan::ProblemKey&, const plan::DeviceKey&, const plan::WinnerRecord& winner) override {
    winners.push_back(winner);
  }
};

/// Memory of an operand that nobody looks at, far from that of any other number: kernels of a fake device do nothing.
inline float* no_memory(int number) { return reinterpret_cast<float*>(static_cast<std::uintptr_t>(number + 1) << 40); }

struct Fixture {
  std::shared_ptr<FakeDevice> device = std::make_shared<FakeDevice>();
  std::shared_ptr<ScriptedTuning> tuning = std::make_shared<ScriptedTuning>();
  std::shared_ptr<plan::CodeStore> code = plan::memory_stores().code;
  std::shared_ptr<plan::AtomicCounters> counters = std::make_shared<plan::AtomicCounters>();
  std::vector<std::string> log;

  /// One thread, unless a test says otherwise: what its device counts then comes in one order.
  std::shared_ptr<plan::Session> session(const Options& options = {.compile_threads = 1}) {
    auto logger = std::make_shared<Logger>([this](LogLevel, std::string_view line) { log.emplace_back(line); });
    return std::make_shared<plan::Session>(device, plan::Stores{.tuning = tuning, .code = code}, logger, counters,
                                           options);
  }
  static Topology topology(const std::shared_ptr<plan::Session>& session, const sparse::Csr& csr) {
    return Topology(std::make_shared<TopologyState>(session, csr.view(), nullptr));
  }
};

}  // namespace vostok::test
