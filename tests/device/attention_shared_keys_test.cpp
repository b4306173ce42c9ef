// Attention whose heads share keys and values, forward and backward, by one kernel and step by step; and what attention
// refuses to do step by step.
#include <doctest/doctest.h>

#include <limits>

#include "contains.hpp"
#include "device/attention_plans.hpp"
#include "device/devices.hpp"
#include "device/kernel_devices.hpp"
#include "error_code.hpp"

using namespace vostok;
using test::contains;

namespace {

/// Why a problem is not planned.
template <class Problem>
std::string refusal(const Context& context, const Problem& problem, ErrorCode code, const PlanOptions& options = {}) {
  std::string message;
  const Topology topology = context.topology(sparse::uniform(20, 20, 0.5, 1).view());
  CHECK(test::code_of([&] { context.plan(problem, topology, options); }, &message) == code);
  return message;
}

}  // namespace

TEST_CASE("heads that share keys agree with float64, forward and backward, one kernel or step by step") {
  if (test::thread_sanitized) {
    MESSAGE("skipped: its kernels take ThreadSanitizer many minutes; each is run there by its own family's test");
    return;
  }
  const Saved all_saved[] = {Saved::none, Saved::probabilities, Saved::row_statistics};
  test::on_every_device([&](const Context& context) {
    const sparse::Csr mask = test::uneven_mask(37, 45, 3);
    int turn = 0;
    for (const std::int64_t group : {2, 4, 8})
      for (const Dtype element : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
        CAPTURE(group);
        SparseAttention problem{.n = 16,
                                .value_size = 8,
                                .batch = 2 * group,
                                .key_heads = 2,
                                .element = element,
                                .saved = all_saved[turn++ % 3]};
        if (turn % 2 == 0) problem = test::interleaved(problem);
        test::check_both(context, problem, mask, test::step_by_step, test::step_by_step);
        test::check_both(context, problem, mask);
      }
  });
}

TEST_CASE("heads that share keys are computed step by step where one head leaves the next one misaligned") {
  test::on_every_device([&](const Context& context) {
    const sparse::Csr mask = test::uneven_mask(5, 7, 4);
    for (const Dtype element : {Dtype::f32, Dtype::bf16})
      test::check_both(context, {.n = 3, .batch = 4, .key_heads = 1, .element = element}, mask, test::step_by_step,
                       test::step_by_step);
  });
}

TEST_CASE("attention refuses heads of keys that are no divisor, and what only one kernel does where none may") {
  const Context context = test::memory_context("emulator");
  for (const std::int64_t key_heads : {-1, 4, 12, 5}) {
    const SparseAttention problem{.n = 8, .batch = 6, .key_heads = key_heads, .element = Dtype::f16};
    const std::string said = refusal(context, problem, ErrorCode::invalid_argument);
    CHECK_MESSAGE(contains(said, "key_heads = " + std::to_string(key_heads)), said);
  }
  CHECK(contains(refusal(context, SparseAttention{.n = 8, .batch = 4, .key_heads = 2, .heads_at_once = 2},
                         ErrorCode::invalid_argument),
                 "heads_at_once = 2"));
  const SparseAttention capped{.n = 8, .capped = true}, causal{.n = 8, .causal = true};
  CHECK(contains(refusal(context, SparseAttentionBackward{capped}, ErrorCode::unsupported, test::step_by_step),
                 "capped = true"));
  CHECK(contains(refusal(context, causal, ErrorCode::unsupported, test::step_by_step), "causal = true"));
  const SparseAttention in_f16{.n = 8, .element = Dtype::f16, .capped = true};
  CHECK(contains(refusal(context, in_f16, ErrorCode::unsupported, test::step_by_step), "capped = true"));
  for (const Dtype element : {Dtype::f16, Dtype::f32}) {
    const SparseAttention strict{.n = 8, .element = element, .math = Math::strict, .causal = true};
    CHECK(contains(refusal(context, strict, ErrorCode::unsupported), "math = strict"));
    CHECK(contains(refusal(context, SparseAttentionBackward{strict}, ErrorCode::unsupported), "math = strict"));
  }
}

TEST_CASE("a call brings a softcap where the problem is capped, and only there") {
  const Context context = test::memory_context("emulator");
  const Topology topology = context.topology(sparse::uniform(20, 20, 0.5, 1).view());
  alignas(256) static std::uint16_t memory[6][20 * 8];
  for (const bool capped : {false, true}) {
    const AttentionPlan plan = context.plan(SparseAttention{.n = 8, .element = Dtype::f16, .capped = capped}, topology);
    AttentionArguments call{.query = memory[0], .key = memory[1], .value = memory[2], .output = memory[3]};
    const Workspace workspace = plan.make_workspace();
    call.workspace = workspace;
    for (const float softcap :
         {0.0F, 30.0F, -1.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      call.softcap = softcap;
      if (softcap == (capped ? 30.0F : 0.0F)) {
        plan.execute(nullptr, call);
        continue;
      }
      std::string message;
      CHECK(test::code_of([&] { plan.execute(nullptr, call); }, &message) == ErrorCode::invalid_argument);
      CHECK(contains(message, "softcap = "));
    }
  }
}
