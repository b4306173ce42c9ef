// Attention's plans, forward and backward, through the public API on every device that is here.
#include <doctest/doctest.h>

#include "device/attention_plans.hpp"
#include "device/devices.hpp"
#include "device/kernel_devices.hpp"
#include "tune/attention_case.hpp"

using namespace vostok;
using test::check_both;
using test::code_of;
using test::interleaved;
using test::on_every_device;
using test::step_by_step;
using test::verify;

namespace {

/// Some queries have no key, and some keys no query.
sparse::Csr with_gaps(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  const sparse::Csr source = sparse::uniform(rows, cols, 0.7, seed);
  sparse::Csr mask{.rows = rows, .cols = cols};
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t entry = source.row_offsets[row]; entry < source.row_offsets[row + 1]; ++entry)
      if (row % 5 != 0 && source.column_indices[entry] % 7 != 0)
        mask.column_indices.push_back(source.column_indices[entry]);
    mask.row_offsets.push_back(mask.nonzeros());
  }
  return mask;
}

}  // namespace

TEST_CASE("attention in every type agrees with float64, forward and backward, whatever is saved") {
  if (test::thread_sanitized) {
    MESSAGE("skipped: its kernels take ThreadSanitizer many minutes; each is run there by its own family's test");
    return;
  }
  on_every_device([](const Context& context) {
    const sparse::Csr mask = with_gaps(37, 45, 1);
    check_both(context,
               interleaved({.n = 16, .value_size = 8, .batch = 3, .element = Dtype::f32, .saved = Saved::none}), mask);
    check_both(
        context,
        interleaved({.n = 16, .value_size = 8, .batch = 3, .element = Dtype::f16, .saved = Saved::probabilities}),
        mask);
    check_both(
        context,
        interleaved({.n = 16, .value_size = 8, .batch = 3, .element = Dtype::bf16, .saved = Saved::row_statistics}),
        mask);
    check_both(context,
               {.n = 9, .batch = 2, .element = Dtype::f32, .alignment_bytes = 4, .saved = Saved::probabilities}, mask);
    check_both(context,
               {.n = 9,
                .element = Dtype::f32,
                .query_leading = 13,
                .value_leading = 11,
                .alignment_bytes = 4,
                .saved = Saved::row_statistics},
               mask);
  });
}

TEST_CASE("attention of some heads after others agrees with float64, forward and backward, in less memory") {
  if (test::thread_sanitized) {
    MESSAGE("skipped: its kernels take ThreadSanitizer many minutes; each is run there by its own family's test");
    return;
  }
  on_every_device([](const Context& context) {
    const sparse::Csr mask = with_gaps(37, 45, 3);
    const Topology topology = context.topology(mask.view());
    for (const Dtype element : {Dtype::f32, Dtype::f16})
      for (const Saved saved : {Saved::none, Saved::probabilities, Saved::row_statistics}) {
        SparseAttention problem =
            interleaved({.n = 16, .value_size = 8, .batch = 6, .element = element, .saved = saved});
        const std::int64_t together = context.plan(problem, topology, step_by_step).workspace_bytes();
        for (const std::int64_t heads : {1, 2, 3}) {
          CAPTURE(heads);
          problem.heads_at_once = heads;
          check_both(context, problem, mask, step_by_step);
          if (saved != Saved::probabilities)
            CHECK(context.plan(problem, topology, step_by_step).workspace_bytes() < together);
        }
      }
  });
}

TEST_CASE("attention computes as many heads at a time as have 128 MiB of probabilities, and tells it") {
  const Context context = test::memory_context("emulator");
  const Topology topology = context.topology(sparse::uniform(1024, 1024, 0, 1).view());  // 4 MiB of f32 a head
  const auto at_once = [&](const SparseAttention& problem) {
    const Explanation explanation = context.plan(problem, topology, step_by_step).explain();
    const auto found = explanation.config.find("heads_at_once");
    CHECK((found == explanation.config.end()) == (explanation.text().find("heads_at_once") == std::string::npos));
    return found == explanation.config.end() ? problem.batch : std::stoll(found->second);
  };
  CHECK(at_once({.n = 8, .batch = 32}) == 32);
  CHECK(at_once({.n = 8, .batch = 64}) == 32);
  CHECK(at_once({.n = 8, .batch = 66}) == 22);
  CHECK(at_once({.n = 8, .batch = 37}) == 1);
  CHECK(at_once({.n = 8, .batch = 128, .element = Dtype::f16}) == 64);
  CHECK(at_once({.n = 8, .batch = 64, .heads_at_once = 16}) == 16);
  CHECK(at_once({.n = 8, .batch = 1009}) == 1);  // a prime
  CHECK(at_once({.n = 8, .batch = 0}) == 0);
  // Every second head is aligned to 16 bytes.
  CHECK(at_once({.n = 6, .batch = 66, .query_leading = 396, .key_leading = 396, .query_stride = 6, .key_stride = 6}) ==
        22);
  CHECK(at_once({.n = 6, .batch = 74, .query_leading = 444, .key_leading = 444, .query_stride = 6, .key_stride = 6}) ==
        2);
}

TEST_CASE("masks without queries, keys or nonzeros give zeros, and one key its value") {
  on_every_device([](const Context& context) {
    sparse::Csr no_keys{.rows = 3, .cols = 4};
    no_keys.row_offsets = {0, 0, 0, 0};
    sparse::Csr no_queries{.rows = 0, .cols = 4};
    for (const sparse::Csr& mask : {no_keys, no_queries, sparse::uniform(1, 1, 0, 1)})
      for (const Saved saved : {Saved::none, Saved::probabilities})
        check_both(context, {.n = 4, .batch = 2, .saved = saved}, mask);
  });
}

TEST_CASE(
    "attention rebinds to a mask with another number of nonzeros, decides and compiles nothing, and follows the new "
    "mask") {
  on_every_device([](const Context& context) {
    const SparseAttention problem{.n = 8, .batch = 2, .saved = Saved::probabilities};
    const sparse::Csr second = sparse::uniform(64, 64, 0.79, 8);
    const Topology first_topology = context.topology(sparse::uniform(64, 64, 0.8, 7).view());
    const Topology second_topology = context.topology(second.view());
    const AttentionPlan forward = context.plan(problem, first_topology);
    const AttentionBackwardPlan backward = context.plan(SparseAttentionBackward{.forward = problem}, first_topology);
    verify(context, forward, sparse::uniform(64, 64, 0.8, 7));

    const Counters before = context.counters();
    const AttentionPlan forward_again = forward.rebind(second_topology);
    const Counters after = context.counters();
    CHECK(after.kernels_compiled == before.kernels_compiled);
    CHECK(after.tuning_misses == before.tuning_misses);
    CHECK(forward_again.saved_bytes() > forward.saved_bytes());
    const tune::Check output = verify(context, forward_again, second);
    CHECK_MESSAGE(output.wrong.empty(), output.wrong);
    const tune::Check gradients = verify(context, forward_again, backward.rebind(second_topology), second);
    CHECK_MESSAGE(gradients.wrong.empty(), gradients.wrong);
    CHECK(code_of([&] { forward.rebind(context.topology(sparse::uniform(65, 64, 0.8, 7).view())); }) ==
          ErrorCode::invalid_argument);
  });
}

TEST_CASE("attention tells the choice of each step, and what it saves") {
  on_every_device([](const Context& context) {
    const sparse::Csr mask = sparse::uniform(32, 24, 0.75, 2);
    const Topology topology = context.topology(mask.view());
    const auto plan_with = [&](Saved saved) {
      return context.plan(SparseAttention{.n = 8, .batch = 2, .element = Dtype::f16, .saved = saved}, topology,
                          step_by_step);
    };
    const AttentionPlan plan = plan_with(Saved::none);
    const Explanation explanation = plan.explain();
    REQUIRE(explanation.steps.size() == 3);
    CHECK(explanation.steps[0].family == "row_strips");
    CHECK(explanation.steps[1].family == "row_softmax");
    CHECK(explanation.steps[2].family == "row_tile");
    CHECK(explanation.steps[0].operation == "sddmm");
    CHECK(explanation.steps[1].operation == "softmax");
    CHECK(explanation.steps[2].operation == "spmm");
    for (const Explanation& step : explanation.steps)
      CHECK(explanation.text().find(step.operation + " " + step.family + " " + to_text(step.config)) !=
            std::string::npos);
    CHECK(plan.family() == "row_tile");
    CHECK(plan.saved_bytes() == 0);
    CHECK(plan_with(Saved::row_statistics).saved_bytes() == 2 * 32 * 4);
    CHECK(plan_with(Saved::probabilities).saved_bytes() >= 2 * mask.nonzeros() * 2);

    const auto backward_steps = [&](Saved saved) {
      const SparseAttentionBackward problem{.forward = {.n = 8, .saved = saved}};
      return context.plan(problem, topology, step_by_step).explain().steps.size();
    };
    CHECK(backward_steps(Saved::none) == 7);
    CHECK(backward_steps(Saved::probabilities) == 5);
  });
}

TEST_CASE("attention of 16-bit elements runs as one kernel, by itself or by name, and saves what a gradient reads") {
  on_every_device([](const Context& context) {
    const sparse::Csr mask = with_gaps(70, 90, 4);
    const Topology topology = context.topology(mask.view());
    const SparseAttention problem =
        interleaved({.n = 32, .batch = 2, .element = Dtype::bf16, .saved = Saved::row_statistics});
    const AttentionPlan plan = context.plan(problem, topology);
    CHECK(plan.family().starts_with("fused_"));
    CHECK(plan.explain().operation == "attention");
    CHECK(plan.explain().steps.empty());
    CHECK(context.plan(problem, topology, {.family = "fused_mma"}).family() == "fused_mma");
    CHECK(context.plan(problem, topology, step_by_step).explain().steps.size() == 3);
    check_both(context, problem, mask, {.family = "fused_mma"});

    const sparse::Csr other = with_gaps(70, 90, 5);
    const tune::Check output = verify(context, plan.rebind(context.topology(other.view())), other);
    CHECK_MESSAGE(output.wrong.empty(), output.wrong);
    std::string message;
    const SparseAttention strict{.n = 32, .math = Math::strict};
    CHECK(code_of([&] { context.plan(strict, topology, {.family = "fused_mma"}); }, &message) ==
          ErrorCode::unsupported);
    CHECK(message.find("math = strict") != std::string::npos);
    const SparseAttentionBackward gradients{.forward = strict};
    CHECK(code_of([&] { context.plan(gradients, topology, {.family = "fused_backward"}); }, &message) ==
          ErrorCode::unsupported);
    CHECK(message.find("math = strict") != std::string::npos);
  });
}

TEST_CASE("attention of f32 runs as one kernel, and gradients of either way read what it saves") {
  on_every_device([](const Context& context) {
    const sparse::Csr mask = with_gaps(70, 90, 6);
    for (const Math math : {Math::accurate, Math::tf32}) {
      CAPTURE(name(math));
      const SparseAttention problem = interleaved({.n = 32, .batch = 2, .math = math, .saved = Saved::row_statistics});
      check_both(context, problem, mask, {.family = "fused_mma"});
      check_both(context, problem, mask, {}, {.family = "fused_backward"});
      check_both(context, problem, mask, step_by_step, {.family = "fused_backward"});
      check_both(context, problem, mask, {.family = "fused_mma"}, step_by_step);
    }
  });
}

TEST_CASE("one kernel takes some heads after others where the workspace of all is not allowed, and tells it") {
  const sparse::Csr mask = with_gaps(64, 90, 6);  // row statistics of each head are aligned
  const PlanOptions forward{.family = "fused_mma"}, backward{.family = "fused_backward"};
  for (const std::string& name : test::device_names()) {
    CAPTURE(name);
    SparseAttention problem = interleaved({.n = 32, .batch = 6, .saved = Saved::row_statistics});
    Options options = test::memory_options(name);
    const Context any(options);
    options.max_workspace_bytes = any.plan(problem, any.topology(mask.view()), forward).workspace_bytes() * 3 / 5;
    const Context context(options);
    const Topology topology = context.topology(mask.view());
    for (const std::int64_t key_heads : {0, 3}) {
      CAPTURE(key_heads);
      problem.key_heads = key_heads;
      const AttentionPlan plan = context.plan(problem, topology, forward);
      CHECK(plan.workspace_bytes() <= options.max_workspace_bytes);
      CHECK(plan.explain().config.at("heads_at_once") == (key_heads == 0 ? "3" : "2"));
      check_both(context, problem, mask, forward, backward);
    }
    problem.dropped = true;  // by numbers of heads
    std::string message;
    CHECK(code_of([&] { context.plan(problem, topology, forward); }, &message) == ErrorCode::unsupported);
    CHECK(message.find("more workspace than Options::max_workspace_bytes") != std::string::npos);
  }
}

TEST_CASE("attention refuses a missing or misaligned operand, workspace or saved memory by name") {
  on_every_device([](const Context& context) {
    const sparse::Csr mask = sparse::uniform(16, 16, 0.5, 3);
    const AttentionPlan plan =
        context.plan(SparseAttention{.n = 8, .saved = Saved::row_statistics}, context.topology(mask.view()));
    const tune::AttentionCase operands(test::device_of(context), plan.problem(), mask, 4, plan.saved_bytes());
    const Workspace workspace = plan.make_workspace();
    REQUIRE(workspace.bytes() > 0);
    AttentionArguments good = operands.call();
    good.workspace = workspace;
    plan.execute(nullptr, good);
    test::device_of(context).synchronize(nullptr);

    const auto refuse = [&](const auto& spoil, ErrorCode code, const char* part) {
      AttentionArguments bad = good;
      spoil(bad);
      std::string message;
      CHECK(code_of([&] { plan.execute(nullptr, bad); }, &message) == code);
      CAPTURE(message);
      CHECK(message.find(part) != std::string::npos);
    };
    refuse([](AttentionArguments& a) { a.workspace = nullptr; }, ErrorCode::invalid_argument, ".workspace is null");
    refuse([](AttentionArguments& a) { a.workspace = static_cast<char*>(a.workspace) + 16; },
           ErrorCode::misaligned_pointer, "256");
    refuse([](AttentionArguments& a) { a.saved = nullptr; }, ErrorCode::invalid_argument, ".saved is null");
    refuse([](AttentionArguments& a) { a.saved = static_cast<char*>(a.saved) + 16; }, ErrorCode::misaligned_pointer,
           ".saved");
    refuse([](AttentionArguments& a) { a.key = nullptr; }, ErrorCode::invalid_argument, ".key is null");
    refuse([](AttentionArguments& a) { a.query = static_cast<const float*>(a.query) + 1; },
           ErrorCode::misaligned_pointer, ".query");
    CHECK(code_of([] { AttentionPlan().execute(nullptr, {}); }) == ErrorCode::invalid_argument);
    CHECK(code_of([] { AttentionPlan().saved_bytes(); }) == ErrorCode::invalid_argument);
  });
}

TEST_CASE("attention's cases refuse what is wrong: nothing written, written beside, another scale, nothing saved") {
  const Context context = test::memory_context("emulator");  // whose device memory the host can write
  const sparse::Csr mask = sparse::uniform(16, 16, 0.5, 3);
  const AttentionPlan plan =
      context.plan(SparseAttention{.n = 8, .output_leading = 9, .alignment_bytes = 4, .saved = Saved::row_statistics},
                   context.topology(mask.view()));
  tune::AttentionCase operands(test::device_of(context), plan.problem(), mask, 4, plan.saved_bytes());
  const Workspace workspace = plan.make_workspace();
  operands.set_workspace(workspace);
  const auto wrong = [&](const auto& spoil) {
    return operands
        .verify([&](Stream stream) {
          AttentionArguments call = operands.call();
          spoil(stream, call);
        })
        .wrong;
  };
  CHECK(wrong([&](Stream stream, const AttentionArguments& call) { plan.execute(stream, call); }).empty());
  CHECK(wrong([](Stream, const AttentionArguments&) {}).find("the output: element") != std::string::npos);
  CHECK(wrong([&](Stream stream, AttentionArguments& call) {
          call.scale = 0.4F;
          plan.execute(stream, call);
        }).find("above the tolerance") != std::string::npos);
  CHECK(wrong([&](Stream stream, const AttentionArguments& call) {
          plan.execute(stream, call);
          test::device_of(context).synchronize(stream);
          static_cast<float*>(call.output)[8] = 1;
        }).find("memory outside the output's lines") != std::string::npos);
  CHECK(wrong([&](Stream stream, const AttentionArguments& call) {
          plan.execute(stream, call);
          test::device_of(context).synchronize(stream);
          static_cast<float*>(call.saved)[3] += 0.01F;
        }).find("of what was saved is above") != std::string::npos);
}

TEST_CASE("attention's problem is refused by field and value where it makes no sense") {
  const Context context = test::memory_context("emulator");
  const Topology topology = context.topology(sparse::uniform(8, 8, 0.5, 1).view());
  const auto refuse = [&](const SparseAttention& problem, const char* part) {
    std::string message;
    CHECK(code_of([&] { context.plan(problem, topology); }, &message) == ErrorCode::invalid_argument);
    CHECK(code_of([&] { context.plan(SparseAttentionBackward{.forward = problem}, topology); }) ==
          ErrorCode::invalid_argument);
    CAPTURE(message);
    CHECK(message.find(part) != std::string::npos);
  };
  refuse({.n = -1}, "n = -1");
  refuse({.n = 8, .value_size = -1}, "value_size = -1");
  refuse({.n = 8, .batch = -1}, "batch = -1");
  refuse({.n = 8, .query_leading = 7}, "query_leading = 7");
  refuse({.n = 8, .batch = 2, .value_stride = 7}, "value_stride = 7");
  refuse({.n = 8, .batch = 2, .key_leading = 10, .key_stride = 9}, "key_stride = 9");
  refuse({.n = 8, .batch = 3, .output_leading = 16, .output_stride = 8}, "output_stride = 8");
  refuse({.n = 8, .alignment_bytes = 2}, "alignment_bytes = 2");
  refuse({.n = 8, .batch = 6, .heads_at_once = 4}, "heads_at_once = 4 is no divisor of batch = 6");
  refuse({.n = 8, .batch = 6, .heads_at_once = -1}, "heads_at_once = -1");
  refuse({.n = 6, .batch = 2, .query_leading = 12, .query_stride = 6, .heads_at_once = 1}, "heads_at_once = 1");
}
