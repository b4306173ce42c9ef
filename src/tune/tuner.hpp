// The tuner races candidates and returns a choice with its evidence: screen, race, confirm. It knows no operation: a
// Subject compiles, verifies and records one candidate.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <vostok/plan.hpp>

#include "device/device.hpp"
#include "ops/config.hpp"
#include "tune/samples.hpp"

namespace vostok::tune {

/// One config that the rules admit.
struct Candidate {
  std::string family = {};
  ops::Config config = {};
  bool is_default = false;
  bool in_use = false;  ///< plans of this very problem use it so far, by a measurement of it or of a neighbour
  bool unlikely =
      false;  ///< predicted to be far slower than the cheapest default, and so treated like any other candidate

  /// A default that could be the best; choices are confirmed against it.
  bool is_rival() const { return is_default && !unlikely; }
  /// Measured whatever the budget, so that a choice is never worse than what was in use.
  bool must_run() const { return is_rival() || in_use; }
};

/// Positions in the order of a race: candidates that must run come first, each group in the order of the list.
std::vector<std::size_t> race_order(const std::vector<Candidate>& candidates);

/// A candidate, compiled and loaded: what the compiler said, and what to launch.
struct Compiled {
  std::string code_digest = {};
  int registers = 0;
  std::int64_t spill_bytes = 0;
  std::int64_t shared_bytes = 0;
  std::string screened =
      {};  ///< why it is not worth measuring (spills, no occupancy, serialised code); empty: measure it
  std::function<void(Stream)> enqueue = {};
  std::function<void(Stream)> timed =
      {};  ///< what is measured where that is not `enqueue`: the same launch on one copy of the operands after another
  /// What to launch where the operands' values have changed since: values are packed anew.
  std::function<std::function<void(Stream)>()> renewed = {};
};

class Subject {
 public:
  virtual ~Subject() = default;
  /// Thread-safe. Throws Error (compile_failed) where the compiler refuses.
  virtual Compiled compile(const Candidate& candidate) = 0;
  /// Runs once on poisoned output with guard bands; returns why the result is wrong, or nothing.
  virtual std::optional<std::string> verify(const Compiled& compiled) = 0;
  /// The cache state in which launches are timed: warm operands, more copies of them than the cache holds, or a
  /// flush before each replay.
  virtual Rotation rotation() { return {}; }
};

/// The result of one candidate. Every candidate has one.
struct Result {
  std::size_t candidate = 0;  ///< position in the list
  /// "measured", "screened", "compile_failed", "wrong", "faulted", "hung", "banned" (its code failed on another
  /// problem), "untested" (it must not run here, and no other process could run it) or "not_reached" (budget).
  std::string status = {};
  std::string reason = {};
  Compiled compiled = {};
  std::optional<double> median_us = {};
  std::optional<double> spread_us = {};
  int rounds = 0;
  bool verified = false;  ///< its output was found right
};

/// The stored result of an earlier race for exactly this code.
struct Earlier {
  double median_us = 0;
  double spread_us = 0;
  int rounds = 0;
  bool verified = false;
};

/// Whether a compiled candidate may run in this process, and its results from another process.
struct Admission {
  std::string status = {};  ///< empty: it may run; else its final status, as in Result
  std::string reason = {};
  bool verified = false;                 ///< for this problem
  std::optional<Summary> measured = {};  ///< measured in another process
  int rounds = 0;                        ///< rounds of that measurement
};

struct Settings {
  double budget_seconds = 30;
  std::uint64_t seed = 1;
  int compile_threads = 2;
  int confirm_rounds = 15;
  int finalists = 4;
  std::function<void(const std::string&)> progress = {};
  std::function<void(const Candidate&, const Result&)> publish = {};  ///< called once a candidate's result is final
  /// Looks up stored results for this code. Such a candidate is measured again only as a finalist, in a race with
  /// something new.
  std::function<std::optional<Earlier>(const Candidate&, const Compiled&)> earlier = {};
  /// Asked before a candidate's first launch. `seconds`: the time that it may take. `slow_us`: above this it need not
  /// be verified, since it will not be measured here. Absent: everything runs here.
  std::function<Admission(const Candidate&, const Compiled&, double seconds, double slow_us)> admit = {};
  std::function<bool()> stop = {};  ///< polled between measurements; true ends the race as the budget does
};

struct Outcome {
  std::vector<Result> results = {};        ///< in candidate order
  std::optional<std::size_t> winner = {};  ///< position of the choice; nothing if no candidate survived
  std::optional<device::Clocks> clocks_before = {};
  std::optional<device::Clocks> clocks_after = {};
};

/// Races the candidates on `device`. All that must run do, and default configs that could be the best are always
/// finalists.
Outcome race(device::Device& device, Subject& subject, const std::vector<Candidate>& candidates,
             const Settings& settings);

}  // namespace vostok::tune
