// The recipe from a problem to a plan, the same for every operation.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/single_flight.hpp"
#include "plan/beside.hpp"
#include "plan/decision.hpp"
#include "plan/plan_state.hpp"
#include "tune/case.hpp"
#include "tune/tuner.hpp"

namespace vostok::plan {

struct PackingKernel;

/// The planner's interface to an operation whose values are packed once.
struct TaskPacking {
  /// The query restricted to configs that read this format.
  std::function<std::shared_ptr<const ops::Query>(const std::string& format)> restricted;
  /// Family::packed_format's name for this PackedValues::format; nothing if the query's values are never packed so.
  std::function<std::optional<std::string>(const std::string& format)> family_format;
  /// Packs values, laid out as the query says, into a format, for the task's topology or one of the same structure.
  std::function<PackedValues(const Topology& topology, const std::string& format, const void* values)> pack;
  /// The kernel that packs.
  std::function<PackingKernel(const std::string& format)> kernel;
};

/// One query to plan, with its topology and what the planner needs of its operation.
struct Task {
  std::shared_ptr<const ops::Query> query;
  Topology topology;                                       ///< empty for operations without one
  std::function<std::unique_ptr<tune::Case>()> make_case;  ///< operands of the query's sizes, for the tuner
  std::optional<TaskPacking> packing = {};                 ///< nothing where values are passed at every call
};

class Planner : public std::enable_shared_from_this<Planner> {
 public:
  explicit Planner(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  virtual ~Planner() = default;
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  const std::shared_ptr<Session>& session() const { return session_; }

  /// Throws capture_active, invalid_argument (empty handle) or wrong_device; `what` is the caller's purpose: "plan
  /// SpMM".
  void require_usable(const Topology& topology, Stream stream, const std::string& what) const;

  /// Statistics of a topology, or of its transpose, whose row offsets are made if they are missing.
  virtual TopologyStatistics statistics(const Topology& topology, bool transposed) const;

  /// Decides, compiles and loads. Errors: unsupported (no family serves the query), no_compiler, missing_kernel,
  /// missing_choice, out_of_memory.
  Choice choose(const Task& task, const PlanOptions& options) const;
  /// As choose, for all tasks of one plan, which share the budget. If values are packed once, all choices read one
  /// format (shared_format): tasks whose own choice reads another are decided again.
  virtual std::vector<Choice> choose_all(std::vector<Task> tasks, const PlanOptions& options) const;

  /// The old choice for a query that differs only in its topology's statistics. Nothing if a kernel would have to
  /// change.
  std::optional<Choice> rebind(const Choice& old, std::shared_ptr<const ops::Query> query,
                               const Topology& topology) const;

  /// Of the choice that a plan of this effort would find stored, or else of the cost models'. Compiles nothing.
  /// Infinite where there is none.
  Expected expected(const ops::Query& query, Effort effort) const;

  Explanation explain(const Choice& choice, Detail detail) const;

  /// Drops the memoised decisions and expectations: the caches may have changed.
  void forget() const {
    memo_.clear();
    expected_.clear();
  }

 protected:
  virtual std::shared_ptr<const Decision> decide(const Task& task, const PlanOptions& options) const;
  /// A decision for each task; narrows the tasks' queries where they share a packed format.
  std::vector<std::shared_ptr<const Decision>> decide_each(std::vector<Task>& tasks, const PlanOptions& options) const;
  /// Stored choices that today's rules admit, best first, without their kernels.
  std::vector<Decision> admitted(const ops::Query& query) const;
  /// The cost model's choice, without its kernels. Errors: unsupported.
  Decision predicted(const ops::Query& query, std::string note) const;

 private:
  Choice make_choice(std::shared_ptr<const ops::Query> query, std::shared_ptr<const Decision> decision,
                     const Topology& topology) const;
  std::vector<std::shared_ptr<const Decision>> decide_alike(std::vector<Task>& tasks, const PlanOptions& options) const;
  Decision decide_once(const Task& task, const PlanOptions& options) const;
  Decision tuned_only(const Task& task) const;
  std::optional<Decision> usable(const Task& task, const WinnerMatch& match, std::optional<Effort> at_least) const;
  std::vector<WinnerMatch> same(const ops::Query& query) const;
  std::vector<WinnerMatch> same_and_near(const ops::Query& query) const;
  std::vector<WinnerMatch> neighbours(const ops::Query& query) const;
  template <class Use>
  std::optional<Decision> first_stored(const ops::Query& query, bool near, const Use& use) const;
  std::optional<Decision> stored(const Task& task, std::optional<Effort> at_least) const;
  std::vector<tune::Candidate> contenders(const ops::Query& query, Effort effort) const;
  bool has_trials(const ops::Query& query, Effort effort) const;
  std::optional<Decision> from_match(const ops::Query& query, const WinnerMatch& match) const;
  std::vector<WinnerMatch> without_misplaced(const ops::Query& query, std::vector<WinnerMatch> matches) const;
  std::optional<Decision> asked_for(const ops::Query& query, const WinnerMatch& match) const;
  std::optional<Decision> loaded(const Task& task, Decision decision) const;
  Decision heuristic(const Task& task, std::string note) const;
  Expected expected_once(const ops::Query& query, Effort effort) const;
  Decision cheapest(const ops::Query& query, std::string& reasons) const;
  Decision tuned(const Task& task, const PlanOptions& options) const;
  Decision with_kernels(const Task& task, Decision decision) const;
  std::vector<Beside::Job> other_kernels(const Task& task, const Decision& decision,
                                         const std::vector<ops::Launch>& launches) const;

  std::shared_ptr<Session> session_;
  mutable SingleFlight<std::string, Decision> memo_;  ///< never holds a plan, a topology or device memory
  mutable SingleFlight<std::string, Expected> expected_;
};

}  // namespace vostok::plan
