// One operation's part of `vostok run`; the rest of a run is the same for all (cli/runner.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <vostok/context.hpp>

#include "cli/host_memory.hpp"
#include "cli/measure.hpp"
#include "context_state.hpp"
#include "device/device.hpp"
#include "plan/make_plan.hpp"
#include "plan/survey.hpp"
#include "sparse/csr.hpp"
#include "tune/case.hpp"

namespace vostok::cli {

/// A field of the JSON report.
struct Field {
  std::string name;
  std::variant<bool, std::int64_t, std::string> value;
};

/// A problem described in words.
struct Subject {
  std::string problem = {};        ///< "C[8,32] = A[8,4] B[4,32], f32, math accurate"
  std::string work = {};           ///< the operations that GFLOP/s count: "2 x nonzeros x n"
  std::vector<Field> fields = {};  ///< sizes, types and other properties that identify the problem
  Footprint footprint = {};
};

/// The result of packing values once.
struct PackingReport {
  std::string format = {};
  std::int64_t bytes = 0;  ///< of device memory
  Timing timing = {};      ///< of one packing
};

class Job {
 public:
  virtual ~Job() = default;
  virtual const char* operation() const = 0;  ///< the command's name: "spmm"
  virtual bool masked() const = 0;            ///< whether there is a sparse matrix
  /// The type in which the matrix's own values are read; absent if only its structure is used.
  virtual std::optional<Dtype> value_type() const { return std::nullopt; }
  /// Called with only rows, columns and nonzeros before there is a matrix, and with all statistics afterwards.
  virtual Subject describe(const TopologyStatistics& matrix) const = 0;
  virtual AnyPlan plan(const Context& context, const Topology& topology, const PlanOptions& options) = 0;
  /// What planning would need, and what of that is missing.
  virtual plan::Survey survey(const Context& context, const Topology& topology, const PlanOptions& options) const = 0;
  /// The problem itself.
  virtual AnyProblem value() const = 0;
  /// Operands for the plan, which exists already.
  virtual std::unique_ptr<tune::Case> make_case(device::Device& device, const sparse::Csr& matrix,
                                                std::uint64_t seed) const = 0;
  /// If the plan takes packed values: packs the case's, and sets them in its arguments.
  virtual std::optional<PackingReport> pack(device::Device&, tune::Case&) { return std::nullopt; }
  /// Executes the plan; `arguments` are the case's.
  virtual void execute(Stream stream, const void* arguments) const = 0;
};

/// A job whose problem is planned by Context::plan.
template <class Problem>
class JobOf : public Job {
 public:
  explicit JobOf(Problem problem) : problem_(std::move(problem)) {}

  bool masked() const final { return Problem::masked; }
  AnyPlan plan(const Context& context, const Topology& topology, const PlanOptions& options) override {
    if constexpr (Problem::masked) plan_ = context.plan(problem_, topology, options);
    else plan_ = context.plan(problem_, options);
    return plan_;
  }
  plan::Survey survey(const Context& context, const Topology& topology, const PlanOptions& options) const override {
    return plan::survey(context.state()->session,
                        [&](const plan::Planner& planner) { make(planner, problem_, topology, options); });
  }
  AnyProblem value() const final { return problem_; }
  void execute(Stream stream, const void* arguments) const final {
    plan_.execute(stream, *static_cast<const typename Problem::Arguments*>(arguments));
  }

 protected:
  const Problem& problem() const { return problem_; }
  const Plan<Problem>& made_plan() const { return plan_; }
  template <class Any>
  static void make(const plan::Planner& planner, const Any& problem, const Topology& topology,
                   const PlanOptions& options) {
    if constexpr (Any::masked) plan::make_plan(planner, problem, topology, options);
    else plan::make_plan(planner, problem, options);
  }

 private:
  Problem problem_;
  Plan<Problem> plan_;
};

}  // namespace vostok::cli
