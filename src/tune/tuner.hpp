// The tuner: candidates in, a choice with its evidence out. Screen -> race -> confirm.
// It knows no operation: a Subject compiles, verifies and records one candidate.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <vostok/plan.hpp>

#include "device/device.hpp"
#include "tune/samples.hpp"

namespace vostok::tune {

/// One config that the rules admit.
struct Candidate {
  std::string family = {};
  FieldMap config = {};
  bool is_default = false;
  bool in_use = false;    ///< what plans of this very problem take so far
  bool unlikely = false;  ///< predicted to take far longer than the cheapest default: a default of that kind is a candidate like any other

  /// A default that could be the best, which a choice is confirmed against.
  bool is_rival() const { return is_default && !unlikely; }
  /// Measured whatever the budget, so that a choice is no worse than what there was.
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
  std::string screened = {};  ///< why it is not worth measuring (spills, no occupancy, serialised code); empty: measure it
  std::function<void(Stream)> enqueue = {};
  std::function<void(Stream)> timed =
      {};  ///< what is measured where that is not `enqueue`: the same launch on one copy of the operands after another
};

class Subject {
 public:
  virtual ~Subject() = default;
  /// Thread-safe. Throws Error (compile_failed) where the compiler refuses.
  virtual Compiled compile(const Candidate& candidate) = 0;
  /// Runs once on poisoned output with guard bands; why the result is wrong, or nothing.
  virtual std::optional<std::string> verify(const Compiled& compiled) = 0;
  /// How launches are timed: on warm operands, on more copies of them than the cache holds, or behind a flush of it.
  virtual Rotation rotation() { return {}; }
};

/// What became of a candidate. Every candidate gives one.
struct Result {
  std::size_t candidate = 0;  ///< position in the list
  /// "measured", "screened", "compile_failed", "wrong", "faulted", "hung", "banned" (its code failed on another problem), "untested" (it may not run
  /// here, and there is no other place) or "not_reached" (budget).
  std::string status = {};
  std::string reason = {};
  Compiled compiled = {};
  std::optional<double> median_us = {};
  std::optional<double> spread_us = {};
  int rounds = 0;
  bool verified = false;  ///< its output was found right
};

/// What an earlier race stored about a candidate's very code.
struct Earlier {
  double median_us = 0;
  double spread_us = 0;
  int rounds = 0;
  bool verified = false;
};

/// Whether a compiled candidate may run in this process, and what was found out about it elsewhere.
struct Admission {
  std::string status = {};  ///< empty: it may; else what became of it, as in Result
  std::string reason = {};
  bool verified = false;                 ///< for this problem
  std::optional<Summary> measured = {};  ///< elsewhere
  int rounds = 0;                        ///< of that
};

struct Settings {
  double budget_seconds = 30;
  std::uint64_t seed = 1;
  int compile_threads = 2;
  int confirm_rounds = 15;
  int finalists = 4;
  std::function<void(const std::string&)> progress = {};
  std::function<void(const Candidate&, const Result&)> publish = {};  ///< called once a candidate's result is final
  /// What is stored about this code: such a candidate is measured again only where it is among the finalists of a race with something new.
  std::function<std::optional<Earlier>(const Candidate&, const Compiled&)> earlier = {};
  /// Asked before a candidate's first launch, with the seconds that it may take, and the microseconds past which it need not be verified, since it
  /// will not be measured here. Absent: everything runs here.
  std::function<Admission(const Candidate&, const Compiled&, double seconds, double slow_us)> admit = {};
  std::function<bool()> stop = {};  ///< asked between measurements; true ends the race as the budget does
};

struct Outcome {
  std::vector<Result> results = {};        ///< in candidate order
  std::optional<std::size_t> winner = {};  ///< position of the choice; nothing if no candidate survived
  std::optional<device::Clocks> clocks_before = {};
  std::optional<device::Clocks> clocks_after = {};
};

/// Races the candidates on `device`. Those that must run do, and the default configs that could be the best are always among the finalists.
Outcome race(device::Device& device, Subject& subject, const std::vector<Candidate>& candidates, const Settings& settings);

}  // namespace vostok::tune
