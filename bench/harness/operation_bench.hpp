// A benchmark of one operation: plans, verifies and times every listed problem beside others, and writes tables and a
// JSON file.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/harness/baselines.hpp"
#include "bench/harness/comparisons.hpp"
#include "bench/harness/current_context.hpp"
#include "bench/harness/entry.hpp"
#include "bench/harness/matrices.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/outcome.hpp"
#include "bench/harness/rivals.hpp"
#include "bench/harness/run_record.hpp"
#include "bench/harness/slow_problems.hpp"
#include "bench/harness/targets.hpp"

namespace vostok::bench {

/// The differences between operations, except how entries are made.
struct OperationFacts {
  const char* name;  ///< "spmm": of the program and in its record
  BaselineColumns baseline_columns;
  std::vector<Target> targets = {};
  Json problem = Json::object();   ///< fields that all problems share, besides the element type
  bool has_size = true;            ///< false: a listed matrix is one problem, for any N
  std::vector<Problem> made = {};  ///< replaces the listed problems, if not empty
};

class OperationBench {
 public:
  /// Makes an entry; the problem's matrix is already taken.
  using MakeEntry = std::function<Entry(const Problem&, Matrices&)>;

  OperationBench(OperationFacts facts, const ComparisonOptions& options);

  /// Plans and compares every problem. Returns how many failed, were wrong or were not reached.
  std::size_t run(const MakeEntry& make_entry);
  /// Records a fact of the whole run.
  void note(const std::string& field, Json value) { record_.set(field, std::move(value)); }

  const Context& context() const { return context_; }
  device::Device& device() const { return device_; }
  const std::vector<PeerFinding>& peers() const { return peers_; }

 private:
  void note_peers();
  std::vector<Problem> list_problems() const;
  void run_guarded(const Problem& problem, const MakeEntry& make_entry);
  void run_one(const Problem& problem, const MakeEntry& make_entry);
  void compare(const Problem& problem, const Entry& entry, const Timing& timing, const std::vector<Rival>& rivals,
               const Baseline& baseline);
  void note_outcome(const Problem& problem, const Entry& entry, const Timing& timing, const std::vector<Rival>& rivals);
  Json ours_json(const Entry& entry, const Measured& ours);
  void add_row(const Problem& problem, const Entry& entry, const std::vector<Measured>& measured,
               const Baseline& baseline);
  void print_row(const Problem& problem, const Entry& entry, const Measured& ours,
                 const std::vector<Rival>& rivals) const;
  void summarise(std::size_t not_reached) const;
  Json drift_json() const;

  OperationFacts facts_;
  ComparisonOptions options_;
  Baselines baselines_;
  std::vector<Problem> problems_;
  Context context_;
  CurrentContext current_;
  device::Device& device_;
  RunRecord record_;
  std::vector<PeerFinding> peers_;
  Matrices matrices_;
  Comparisons comparisons_;
  std::vector<Outcome> outcomes_;
  SlowProblems slow_;
  std::map<std::string, std::vector<double>> drift_;  ///< by peer: time here over the baseline's
  std::size_t failures_ = 0;
};

}  // namespace vostok::bench
