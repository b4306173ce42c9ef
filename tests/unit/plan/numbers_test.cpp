// Every number and enumerator of problems and options at the ends of its type: an error that names it, or a plan.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "contains.hpp"
#include "ops/attention/problem.hpp"
#include "ops/conv/problem.hpp"
#include "ops/problem_text.hpp"
#include "ops/sddmm/problem.hpp"
#include "ops/softmax/problem.hpp"
#include "ops/spmm/problem.hpp"
#include "plan/make_plan.hpp"
#include "plan/option_checks.hpp"
#include "unit/plan/fixture.hpp"

using namespace vostok;
using test::code_of;
using test::contains;

namespace {

constexpr std::int64_t wide_ends[] = {-1, std::numeric_limits<std::int64_t>::min(),
                                      std::numeric_limits<std::int64_t>::max(), std::int64_t{1} << 62,
                                      (std::int64_t{1} << 61) + 1};
constexpr int narrow_ends[] = {-1, std::numeric_limits<int>::min(), std::numeric_limits<int>::max(), 1 << 30, 0};
constexpr std::size_t ends = std::size(wide_ends);
static_assert(std::size(narrow_ends) == ends);

/// The end of a field's type; false where it has none.
template <class V>
bool set_end(V& value, std::size_t end) {
  if constexpr (std::is_same_v<V, std::int64_t>) value = wide_ends[end];
  else if constexpr (std::is_same_v<V, int>) value = narrow_ends[end];
  else if constexpr (std::is_same_v<V, std::vector<std::int64_t>>) value = {8, wide_ends[end]};
  else if constexpr (std::is_same_v<V, std::optional<Dtype>>) value = static_cast<Dtype>(100 + end);
  else if constexpr (std::is_enum_v<V>) value = static_cast<V>(100 + end);
  else return false;
  return true;
}

class Planning : public test::Fixture {
 public:
  int refused = 0;
  int planned = 0;

  /// Each field of a problem at each end, on masks with and without nonzeros and rows. `wrap`: what is planned of it.
  template <class Problem, class Wrap>
  void attempt_all(const Problem& problem, const Wrap& wrap) {
    for (int leaf = 0;; ++leaf) {
      bool exists = false;
      for (std::size_t end = 0; end < ends; ++end) {
        Problem changed = problem;
        int index = 0;
        bool is_changed = false;
        std::string field;
        ops::detail::visit_leaves(changed, [&](const std::string& name, auto& value) {
          if (index++ != leaf) return;
          exists = true;
          field = name;
          is_changed = set_end(value, end);
        });
        if (is_changed) attempt(wrap(changed), field, wide_ends[end] > ops::most_elements);
      }
      if (!exists) return;
    }
  }
  template <class Problem>
  void attempt_all(const Problem& problem) {
    attempt_all(problem, [](const Problem& changed) { return changed; });
  }

  enum Mask { some_nonzeros, no_nonzeros, no_rows };
  /// Why a problem is not planned.
  template <class Problem>
  std::string refusal(const Problem& problem, Mask mask) {
    std::string message;
    CHECK(code_of([&] { plan::make_plan(*planner_, problem, masks_[mask], {}); }, &message) ==
          ErrorCode::invalid_argument);
    return message;
  }

 private:
  template <class Problem>
  void attempt(const Problem& problem, const std::string& field, bool past_all_memory) {
    CAPTURE(field);
    // Of a distance in memory nothing is planned then, whatever it is multiplied by, and the field is named.
    const bool is_distance = past_all_memory && (field.ends_with("_leading") || field.ends_with("_stride"));
    for (std::size_t i = 0; i < (Problem::masked ? masks_.size() : 1); ++i) {
      CAPTURE(i);
      try {
        if constexpr (Problem::masked) check(plan::make_plan(*planner_, problem, masks_[i], {}));
        else check(plan::make_plan(*planner_, problem, PlanOptions{}));
        ++planned;
        CHECK_FALSE(is_distance);
      } catch (const Error& error) {
        ++refused;
        if (is_distance) CHECK_MESSAGE(contains(error.what(), field + " = "), error.what());
        const bool expected = error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::unsupported;
        CHECK_MESSAGE(expected, error.what());
      }
    }
  }
  /// What a plan says of its calls is as numbers are that did not overflow.
  static void check(const plan::PlanStatePointer& state) {
    CHECK(state->workspace_bytes >= 0);
    for (const plan::Operand& operand : state->operands) CHECK(operand.bytes >= 0);
  }

  std::shared_ptr<plan::Session> session_ = session();
  std::shared_ptr<plan::Planner> planner_ = std::make_shared<plan::Planner>(session_);
  std::vector<Topology> masks_ = {topology(session_, sparse::uniform(24, 40, 0.5, 3)),
                                  topology(session_, {.rows = 3, .cols = 4, .row_offsets = {0, 0, 0, 0}}),
                                  topology(session_, {.rows = 0, .cols = 4, .row_offsets = {0}})};
};

std::string refused(const Options& options) {
  std::string message;
  CHECK(code_of([&] { plan::validate(options); }, &message) == ErrorCode::invalid_argument);
  return message;
}

std::string refused(const PlanOptions& options) {
  std::string message;
  CHECK(code_of([&] { plan::validate(options); }, &message) == ErrorCode::invalid_argument);
  return message;
}

}  // namespace

TEST_CASE(
    "a problem's numbers and enumerators at the ends of their types are refused or planned, never anything else") {
  Planning planning;
  planning.attempt_all(Spmm{.n = 8});
  planning.attempt_all(Spmm{.n = 8, .batch = 3, .values_per_batch = true, .value_lifetime = ValueLifetime::persistent});
  planning.attempt_all(Spmm{.n = 8,
                            .batch = 0,
                            .values_per_batch = true,
                            .dense_layout = Layout::column_major,
                            .output_layout = Layout::column_major});
  planning.attempt_all(Sddmm{.n = 8});
  planning.attempt_all(Sddmm{
      .n = 8, .batch = 3, .lhs_layout = Layout::column_major, .rhs_layout = Layout::column_major, .multiply = true});
  planning.attempt_all(Softmax{.batch = 2, .statistics = RowStatistics::write});
  planning.attempt_all(Softmax{.batch = 0});
  planning.attempt_all(SoftmaxBackward{.batch = 2});
  planning.attempt_all(SparseAttention{.n = 8, .batch = 2, .saved = Saved::row_statistics});
  planning.attempt_all(SparseAttention{.n = 8, .batch = 2, .saved = Saved::probabilities},
                       [](const SparseAttention& forward) { return SparseAttentionBackward{.forward = forward}; });
  planning.attempt_all(SparseAttention{.n = 8, .batch = 4, .key_heads = 2});
  planning.attempt_all(SparseAttention{.n = 8, .batch = 4, .key_heads = 2},
                       [](const SparseAttention& forward) { return SparseAttentionBackward{.forward = forward}; });
  planning.attempt_all(DepthwiseConvolution{.batch = 2, .channels = 3, .height = 8, .width = 8});
  planning.attempt_all(BiasActivation{.batch = 2, .rows = 3, .columns = 4});
  planning.attempt_all(Im2col{.batch = 2, .channels = 3, .height = 8, .width = 8});
  CHECK(planning.refused > 1000);
  CHECK(planning.planned > 10);
}

TEST_CASE("sets of values and statistics that no memory holds are refused, also where there is nothing to compute") {
  Planning planning;
  for (const std::int64_t sets : {std::int64_t{1} << 62, std::numeric_limits<std::int64_t>::max()}) {
    CAPTURE(sets);
    CHECK(contains(planning.refusal(Spmm{.n = 0, .batch = sets, .values_per_batch = true}, Planning::some_nonzeros),
                   "the values' elements"));
    CHECK(contains(planning.refusal(Softmax{.batch = sets, .statistics = RowStatistics::write}, Planning::no_nonzeros),
                   "row_statistics"));
    for (const Saved saved : {Saved::none, Saved::probabilities, Saved::row_statistics})
      planning.refusal(SparseAttention{.n = 8, .batch = sets, .saved = saved}, Planning::no_nonzeros);
  }
  CHECK(contains(planning.refusal(SparseAttention{.n = 8, .index = static_cast<IndexType>(9)}, Planning::some_nonzeros),
                 "attention: index = 9"));
}

TEST_CASE("sizes of an image whose numbers make no sense are zero, not a crash") {
  for (const int stride : {0, -1, std::numeric_limits<int>::min()}) {
    CHECK(DepthwiseConvolution{.height = 8, .width = 8, .stride = stride}.output_height() == 0);
    CHECK(Im2col{.height = 8, .width = 8, .stride = stride}.output_width() == 0);
  }
  for (const std::int64_t size : wide_ends)
    CHECK(Im2col{.height = size, .width = size, .padding = {size, size, size, size}}.output_height() == 0);
  CHECK(DepthwiseConvolution{.height = 8, .width = 9, .stride = 2, .padding = {1, 1, 1, 1}}.output_height() == 4);
}

TEST_CASE("options that are negative, no number or no enumerator are refused by name, with their value") {
  for (const std::int64_t number : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    CHECK(contains(refused(Options{.max_workspace_bytes = number}), fmt::format("max_workspace_bytes = {}", number)));
    CHECK(contains(refused(Options{.cache = {.max_code_bytes = number}}), fmt::format("max_code_bytes = {}", number)));
  }
  for (const int number : {-1, std::numeric_limits<int>::min()}) {
    CHECK(
        contains(refused(Options{.cache = {.lock_timeout_ms = number}}), fmt::format("lock_timeout_ms = {}", number)));
    CHECK(contains(refused(Options{.compile_threads = number}), fmt::format("compile_threads = {}", number)));
  }
  for (const double seconds : {-1.0, -0.5, double{NAN}, -double{INFINITY}}) {
    CHECK(contains(refused(Options{.worker = {.timeout_seconds = seconds}}),
                   fmt::format("timeout_seconds = {}", seconds)));
    CHECK(contains(refused(PlanOptions{.budget_seconds = seconds}), fmt::format("budget_seconds = {}", seconds)));
  }
  CHECK(contains(refused(Options{.worker = {.timeout_seconds = 0}}), "timeout_seconds = 0"));
  CHECK(contains(refused(Options{.compile = static_cast<CompilePolicy>(2)}), "compile = 2"));
  CHECK(contains(refused(Options{.worker = {.first_run = static_cast<FirstRun>(-1)}}), "first_run = -1"));
  CHECK(contains(refused(PlanOptions{.effort = static_cast<Effort>(4)}), "effort = 4"));
  CHECK(contains(refused(PlanOptions{.effort = static_cast<Effort>(-3)}), "effort = -3"));
  CHECK(contains(refused(PlanOptions{.policy = static_cast<Policy>(2)}), "policy = 2"));
  // No limit of time, and none of memory, are legal.
  plan::validate(Options{.max_workspace_bytes = std::numeric_limits<std::int64_t>::max(),
                         .worker = {.timeout_seconds = INFINITY}});
  plan::validate(PlanOptions{.budget_seconds = INFINITY});
  plan::validate(PlanOptions{.budget_seconds = 0});
}
