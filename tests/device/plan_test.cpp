// The plan's promises, through the public API, on every device that is here.
#include <doctest/doctest.h>

#include <thread>

#include "device/spmm_operands.hpp"

using namespace vostok;
using test::code_of;
using test::on_every_device;
using test::SpmmOperands;

TEST_CASE("a plan multiplies, and says what it is") {
  on_every_device([](const Context& context) {
    const SpmmOperands operands(context, sparse::uniform(96, 80, 0.8, 1), 40, 2);
    const Topology topology = context.topology(operands.csr.view());
    CHECK(topology.rows() == 96);
    CHECK(topology.nonzeros() == operands.csr.nonzeros());
    const SpmmPlan plan = context.plan(Spmm{.n = 40}, topology);
    plan.execute(nullptr, operands.arguments());
    test::device_of(context).synchronize(nullptr);
    CHECK(operands.error() <= operands.tolerance());
    CHECK(plan.family() == "row_tile");
    CHECK(plan.provenance() == Provenance::heuristic);
    CHECK(plan.workspace_bytes() == 0);
    CHECK_FALSE(plan.config().empty());
    CHECK(plan.explain().text().find("row_tile") != std::string::npos);
    // Its kernel and, where rows lie in slots, the step that fills them.
    CHECK(context.counters().kernels_compiled == (plan.config().at("slot_entries") == "0" ? 1 : 2));
  });
}

TEST_CASE("a second plan for the same problem decides and compiles nothing") {
  on_every_device([](const Context& context) {
    const Topology topology = context.topology(sparse::uniform(32, 32, 0.5, 3).view());
    const SpmmPlan plan = context.plan(Spmm{.n = 8}, topology);
    context.plan(Spmm{.n = 8}, topology);
    CHECK(context.counters().kernels_compiled == (plan.config().at("slot_entries") == "0" ? 1 : 2));
    CHECK(context.counters().memo_hits == 1);
  });
}

TEST_CASE("one plan serves every n up to its largest") {
  on_every_device([](const Context& context) {
    const Topology topology = context.topology(sparse::uniform(40, 56, 0.7, 4).view());
    const SpmmPlan plan = context.plan(Spmm{.n_values = {1, 8, 33}}, topology);
    for (const std::int64_t n : {1, 2, 7, 8, 9, 32, 33}) {
      CAPTURE(n);
      const SpmmOperands operands(context, sparse::uniform(40, 56, 0.7, 4), n, 5);
      SpmmArguments arguments = operands.arguments();
      arguments.n = n;
      plan.execute(nullptr, arguments);
      test::device_of(context).synchronize(nullptr);
      CHECK(operands.error() <= operands.tolerance());
    }
    CHECK(code_of([&] { plan.execute(nullptr, {.n = 34}); }) == ErrorCode::invalid_argument);
    CHECK(code_of([&] { plan.execute(nullptr, {.n = -1}); }) == ErrorCode::invalid_argument);
  });
}

TEST_CASE("rebind keeps the decision in the bucket, and the result follows the new mask") {
  on_every_device([](const Context& context) {
    const Topology first = context.topology(sparse::uniform(64, 128, 0.9, 6).view());
    const SpmmPlan plan = context.plan(Spmm{.n = 16}, first);
    const SpmmOperands operands(context, sparse::uniform(64, 128, 0.9, 7), 16, 8);
    const Topology second = context.topology(operands.csr.view());
    const Counters before = context.counters();
    const SpmmPlan rebound = plan.rebind(second);
    const Counters after = context.counters();
    CHECK(after.kernels_compiled == before.kernels_compiled);
    CHECK(after.tuning_misses == before.tuning_misses);
    CHECK(after.memo_hits == before.memo_hits);
    rebound.execute(nullptr, operands.arguments());
    test::device_of(context).synchronize(nullptr);
    CHECK(operands.error() <= operands.tolerance());

    CHECK(code_of([&] { plan.rebind(context.topology(sparse::uniform(65, 128, 0.9, 6).view())); }) ==
          ErrorCode::invalid_argument);
    const SpmmPlan far = plan.rebind(context.topology(sparse::uniform(64, 128, 0.2, 6).view()));
    CHECK(context.counters().tuning_misses > after.tuning_misses);
    CHECK(far.family() == "row_tile");
  });
}

TEST_CASE("problems without work give plans that do the right thing") {
  on_every_device([](const Context& context) {
    sparse::Csr empty;
    empty.cols = 5;
    context.plan(Spmm{.n = 8}, context.topology(empty.view())).execute(nullptr, {});
    const Topology some = context.topology(sparse::uniform(8, 8, 0.5, 1).view());
    context.plan(Spmm{.n = 0}, some).execute(nullptr, {});

    // No nonzeros: the output is the epilogue of zero.
    sparse::Csr zeros;
    zeros.rows = 3;
    zeros.cols = 4;
    zeros.row_offsets = {0, 0, 0, 0};
    const test::Floats bias(test::device_of(context), {1.0F, -2.0F, 3.0F});
    const test::Floats output(test::device_of(context), std::vector<float>(6, NAN));
    const SpmmPlan plan =
        context.plan(Spmm{.n = 2, .epilogue = {.bias = Bias::per_row, .activation = Activation::relu}},
                     context.topology(zeros.view()));
    plan.execute(nullptr, {.output = output.data(), .bias = bias.data()});
    test::device_of(context).synchronize(nullptr);
    CHECK(output.read() == std::vector<float>{1, 1, 0, 0, 3, 3});
  });
}

TEST_CASE("execute refuses what breaks the declaration, by name") {
  on_every_device([](const Context& context) {
    const SpmmOperands operands(context, sparse::uniform(8, 8, 0.5, 1), 8, 2);
    const SpmmPlan plan =
        context.plan(Spmm{.n = 8, .epilogue = {.bias = Bias::per_row}}, context.topology(operands.csr.view()));
    SpmmArguments arguments = operands.arguments();
    std::string message;
    CHECK(code_of([&] { plan.execute(nullptr, arguments); }, &message) == ErrorCode::invalid_argument);
    CHECK(message.find(".bias is null") != std::string::npos);
    arguments.bias = operands.arguments().dense;
    arguments.dense = static_cast<const float*>(arguments.dense) + 1;
    CHECK(code_of([&] { plan.execute(nullptr, arguments); }, &message) == ErrorCode::misaligned_pointer);
    CHECK(message.find(".dense") != std::string::npos);
    CHECK(message.find("declare alignment_bytes = 4") != std::string::npos);
    arguments.dense = nullptr;
    CHECK(code_of([&] { plan.execute(nullptr, arguments); }, &message) == ErrorCode::invalid_argument);
    arguments = operands.arguments();
    arguments.bias = arguments.dense;
    arguments.n = 9;
    CHECK(code_of([&] { plan.execute(nullptr, arguments); }, &message) == ErrorCode::invalid_argument);
  });
}

TEST_CASE("empty handles and mixed contexts are refused") {
  on_every_device([](const Context& context) {
    CHECK(code_of([&] { context.plan(Spmm{.n = 1}, Topology()); }) == ErrorCode::invalid_argument);
    CHECK(code_of([] { SpmmPlan().execute(nullptr, {}); }) == ErrorCode::invalid_argument);
    CHECK(code_of([] { SpmmPlan().explain(); }) == ErrorCode::invalid_argument);
    const Context other = test::memory_context("emulator");
    CHECK(code_of([&] { other.plan(Spmm{.n = 1}, context.topology(sparse::uniform(4, 4, 0.5, 1).view())); }) ==
          ErrorCode::wrong_device);
  });
}

TEST_CASE("a topology names the row and the value that are wrong") {
  on_every_device([](const Context& context) {
    const std::vector<std::int32_t> columns = {0, 1, 2};
    const auto message_of = [&](const std::vector<std::int64_t>& offsets, const std::vector<std::int32_t>& indices) {
      std::string message;
      CHECK(code_of(
                [&] {
                  context.topology(
                      {.rows = 2, .cols = 3, .row_offsets = offsets.data(), .column_indices = indices.data()});
                },
                &message) == ErrorCode::invalid_topology);
      return message;
    };
    CHECK(message_of({0, 3, 2}, columns).find("row") != std::string::npos);
    CHECK(message_of({1, 2, 3}, columns).find("1") != std::string::npos);
    CHECK(message_of({0, 2, 3}, {0, 7, 2}).find("7") != std::string::npos);
    CHECK(message_of({0, 2, 3}, {0, -4, 2}).find("-4") != std::string::npos);
  });
}

TEST_CASE("a topology may lie on the device, in 16, 32 or 64 bits, unsorted and with repeats") {
  on_every_device([](const Context& context) {
    device::Device& device = test::device_of(context);
    const std::vector<std::int64_t> offsets = {0, 3, 3, 5};
    const std::vector<std::uint16_t> columns = {2, 0, 2, 1, 1};
    device::Buffer device_offsets(device, 32);
    device::Buffer device_columns(device, 16);
    device.copy_to_device(device_offsets.data(), offsets.data(), 32);
    device.copy_to_device(device_columns.data(), columns.data(), 10);
    const Topology topology = context.topology({.rows = 3,
                                                .cols = 3,
                                                .row_offsets = device_offsets.as<const std::int64_t>(),
                                                .column_indices = device_columns.as<const std::uint16_t>()});
    CHECK(topology.nonzeros() == 5);
    CHECK(topology.statistics().duplicates);
    CHECK_FALSE(topology.statistics().sorted);
    const test::Floats values(device, {1, 2, 4, 8, 16});
    const test::Floats dense(device, {1, 10, 100});
    const test::Floats output(device, {NAN, NAN, NAN});
    context.plan(Spmm{.n = 1}, topology)
        .execute(nullptr, {.values = values.data(), .dense = dense.data(), .output = output.data()});
    device.synchronize(nullptr);
    CHECK(output.read() == std::vector<float>{502, 0, 240});
  });
}

TEST_CASE("efforts quick and full measure, store, and are found again by cached") {
  on_every_device([](const Context& context) {
    const SpmmOperands operands(context, sparse::uniform(48, 64, 0.8, 9), 24, 10);
    const Topology topology = context.topology(operands.csr.view());
    const double budget_seconds = context.device().gpu ? 10 : 2;
    const SpmmPlan quick =
        context.plan(Spmm{.n = 24}, topology, {.effort = Effort::quick, .budget_seconds = budget_seconds});
    CHECK(quick.provenance() == Provenance::tuned_here);
    const Explanation explanation = quick.explain(Detail::trials);
    CHECK(explanation.median_us.has_value());
    CHECK(explanation.speedup_over_default.has_value());
    CHECK_FALSE(explanation.trials.empty());
    quick.execute(nullptr, operands.arguments());
    test::device_of(context).synchronize(nullptr);
    CHECK(operands.error() <= operands.tolerance());

    const std::int64_t compiled = context.counters().kernels_compiled;
    const SpmmPlan cached = context.plan(Spmm{.n = 24}, topology);
    CHECK(cached.provenance() == Provenance::tuned_here);
    CHECK(cached.config() == quick.config());
    CHECK(context.counters().kernels_compiled == compiled);
    const SpmmPlan heuristic = context.plan(Spmm{.n = 24}, topology, {.effort = Effort::heuristic});
    CHECK(heuristic.provenance() == Provenance::heuristic);
  });
}

TEST_CASE("a context that must not compile names the missing kernel") {
  for (const std::string& name : test::device_names()) {
    const Context context(Options{.device = name,
                                  .cache = {.enabled = false},
                                  .compile = CompilePolicy::never,
                                  .log = [](LogLevel, std::string_view) {}});
    std::string message;
    CHECK(code_of([&] { context.plan(Spmm{.n = 8}, context.topology(sparse::uniform(8, 8, 0.5, 1).view())); },
                  &message) == ErrorCode::missing_kernel);
    CHECK(message.find("row_tile") != std::string::npos);
  }
}

TEST_CASE("many threads plan and execute at once and one kernel is compiled") {
  on_every_device([](const Context& context) {
    const SpmmOperands operands(context, sparse::uniform(32, 48, 0.6, 11), 16, 12);
    const Topology topology = context.topology(operands.csr.view());
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
          const test::Floats output(test::device_of(context), std::vector<float>(32 * 16, NAN));
          SpmmArguments arguments = operands.arguments();
          arguments.output = output.data();
          for (int repeat = 0; repeat < 5; ++repeat) context.plan(Spmm{.n = 16}, topology).execute(nullptr, arguments);
          test::device_of(context).synchronize(nullptr);
        });
      }
    }
    CHECK(context.counters().kernels_compiled == 1);
    context.plan(Spmm{.n = 16}, topology).execute(nullptr, operands.arguments());
    test::device_of(context).synchronize(nullptr);
    CHECK(operands.error() <= operands.tolerance());
  });
}
