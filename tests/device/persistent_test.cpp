// Plans whose values are packed once, through the public API, on every device
// that is here.
#include <doctest/doctest.h>

#include <cstdio>
#include <functional>

#include "base/temporary_folder.hpp"
#include "device/spmm_operands.hpp"
#include "device/uneven_mask.hpp"
#include "plan/plan_state.hpp"
#include "tune/spmm_case.hpp"

using namespace vostok;
using test::code_of;
using test::on_every_device;
using test::SpmmOperands;

namespace {

constexpr std::uint64_t seed = 61;

/// Problems that differ in what packing depends on.
std::vector<Spmm> problems() {
  std::vector<Spmm> list;
  for (const Dtype element : {Dtype::f32, Dtype::f16, Dtype::bf16})
    for (const bool transposed : {false, true})
      list.push_back({.n = 24, .element = element, .sparse_transposed = transposed});
  list.push_back({.n = 9, .batch = 3, .alignment_bytes = 4});
  list.push_back({.n = 8, .batch = 3, .values_per_batch = true, .element = Dtype::f16});
  list.push_back({.n = 8,
                  .batch = 2,
                  .values_per_batch = true,
                  .sparse_transposed = true,
                  .value_stride = 50'001,
                  .alignment_bytes = 4});
  list.push_back({.n = 17, .dense_layout = Layout::column_major, .output_layout = Layout::column_major});
  list.push_back({.n = 16, .math = Math::strict});
  list.push_back({.n = 16, .math = Math::tf32});
  list.push_back(
      {.n = 16,
       .epilogue = {.bias = Bias::per_row, .residual = true, .activation = Activation::relu, .accumulate = true}});
  for (Spmm& problem : list) problem.value_lifetime = ValueLifetime::persistent;
  return list;
}

/// Plans and executes on random operands, twice; the outputs are compared with float64.
void check(const Context& context, const Spmm& problem, const Topology& topology, const sparse::Csr& csr) {
  CAPTURE(problem.n);
  CAPTURE(name(problem.element));
  CAPTURE(problem.sparse_transposed);
  CAPTURE(problem.batch);
  const SpmmPlan plan = context.plan(problem, topology);
  CAPTURE(plan.family());
  tune::SpmmCase operands(test::device_of(context), problem, csr, seed);
  const Workspace workspace = plan.make_workspace();
  operands.set_workspace(workspace);
  const PackedValues packed = plan.pack(nullptr, operands.values());
  CHECK(packed.bytes() == plan.packed_bytes());
  CHECK(packed.format() == plan.packed_format());
  operands.set_packed(packed);
  const auto run = [&](const SpmmPlan& with) {
    const tune::Check result = operands.verify([&](Stream stream) { with.execute(stream, operands.call()); });
    CHECK_MESSAGE(result.wrong.empty(), result.wrong);
  };
  run(plan);
  run(plan);
  run(context.plan(problem, topology));

  const PackedValues loaded = context.load_packed(topology, packed.save());
  operands.set_packed(loaded);
  run(plan);
}

/// The same operands, with values that were packed.
SpmmArguments packed_arguments(const SpmmOperands& operands, const PackedValues& packed, void* workspace) {
  SpmmArguments arguments = operands.arguments();
  arguments.values = nullptr;
  arguments.packed = packed;
  arguments.workspace = workspace;
  return arguments;
}

}  // namespace

TEST_CASE("plans of packed values multiply, also with values that were saved and loaded, whatever the problem") {
  INFO("seed " << seed);
  on_every_device([](const Context& context) {
    const sparse::Csr csr = sparse::uniform(150, 200, 0.8, seed);
    const Topology topology = context.topology(csr.view());
    for (const Spmm& problem : problems()) check(context, problem, topology, csr);
    const sparse::Csr uneven = test::uneven_mask(70, 90, seed + 1);
    check(context, problems().front(), context.topology(uneven.view()), uneven);
    const sparse::Csr empty{.rows = 3, .cols = 4, .row_offsets = {0, 0, 0, 0}};
    check(context, problems().front(), context.topology(empty.view()), empty);
    const sparse::Csr no_columns{.rows = 3, .cols = 0, .row_offsets = {0, 0, 0, 0}};
    check(context, problems().front(), context.topology(no_columns.view()), no_columns);
  });
}

TEST_CASE("the choices of a plan for several n read one format, and packed values serve every n") {
  INFO("seed " << seed);
  on_every_device([](const Context& context) {
    for (const Math math : {Math::accurate, Math::strict}) {
      const SpmmPlan plan =
          context.plan(Spmm{.n_values = {1, 8, 33}, .math = math, .value_lifetime = ValueLifetime::persistent},
                       context.topology(sparse::uniform(40, 56, 0.7, seed).view()));
      for (const plan::Choice& choice : plan.state()->choices) {
        const auto& [family, config] = std::pair(choice.decision->family, choice.decision->config);
        const std::string format = family->packed_format(*choice.query, config);
        CHECK((format.empty() ? "csr/f32" : format) == plan.packed_format());
      }
      for (const std::int64_t n : {1, 2, 8, 9, 32, 33}) {
        CAPTURE(n);
        const SpmmOperands operands(context, sparse::uniform(40, 56, 0.7, seed), n, seed + 1);
        const PackedValues packed = plan.pack(nullptr, operands.arguments().values);
        const Workspace workspace = plan.make_workspace();
        SpmmArguments arguments = packed_arguments(operands, packed, workspace);
        arguments.n = n;
        plan.execute(nullptr, arguments);
        test::device_of(context).synchronize(nullptr);
        CHECK(operands.error() <= operands.tolerance());
      }
    }
  });
}

TEST_CASE("a plan without work packs, and executes without looking") {
  on_every_device([](const Context& context) {
    const Topology topology = context.topology(sparse::uniform(8, 8, 0.5, 1).view());
    const SpmmOperands operands(context, sparse::uniform(8, 8, 0.5, 1), 8, 2);
    const SpmmPlan plan = context.plan(Spmm{.n = 0, .value_lifetime = ValueLifetime::persistent}, topology);
    const PackedValues packed = plan.pack(nullptr, operands.arguments().values);
    plan.execute(nullptr, {.packed = packed});
    plan.execute(nullptr, {});
  });
}

TEST_CASE("a topology whose plans read CSR keeps it, and one whose plans do not can give it back") {
  on_every_device([](const Context& context) {
    const sparse::Csr csr = sparse::uniform(100, 200, 0.6, seed);
    const Topology topology = context.topology(csr.view());
    CHECK(code_of([&] { topology.release_source(); }) == ErrorCode::invalid_argument);  // nothing else is there
    topology.state()->pointers({.packed_strips = PackedGrain::pair});
    std::string message;
    {
      const SpmmPlan plan = context.plan(Spmm{.n = 8, .math = Math::strict}, topology);
      CHECK(code_of([&] { topology.release_source(); }, &message) == ErrorCode::invalid_argument);
      CHECK_MESSAGE(message.find("read it") != std::string::npos, message);
    }
    const std::int64_t before = topology.device_bytes();
    topology.release_source();
    topology.release_source();
    CHECK(topology.device_bytes() <= before - csr.nonzeros() * 2);
    CHECK(topology.nonzeros() == csr.nonzeros());
    const PackedStructure packed = topology.state()->pointers({.packed_strips = PackedGrain::pair}).packed;
    CHECK(packed.units[0] >
          packed.row_strips * packed.k_blocks * packed_strip_units(PackedGrain::pair, 0, 1));  // there are pairs
    const std::vector<float> zeros(std::size_t{100} * 200);
    const test::Floats values(test::device_of(context), zeros), dense(test::device_of(context), zeros);
    const std::vector<std::function<void()>> refused = {
        [&] { context.plan(Spmm{.n = 8, .math = Math::strict}, topology); },
        [&] { context.plan(Spmm{.n = 8, .sparse_transposed = true}, topology); },
        [&] { to_dense(topology, values.data(), {.data = dense.data()}); },
        [&] { transpose(topology); },
        [&] { sort_columns(topology); },
        [&] { topology.state()->pointers({.transposed = true, .packed_strips = PackedGrain::pair}); }};
    for (const std::function<void()>& call : refused) {
      CHECK(code_of(call, &message) == ErrorCode::invalid_argument);
      CHECK_MESSAGE(message.find("release_source") != std::string::npos, message);
    }
  });
}

TEST_CASE("packed values of a file serve a process that never had the values") {
  on_every_device([](const Context& context) {
    const SpmmOperands operands(context, sparse::uniform(64, 96, 0.7, seed), 16, seed);
    const Spmm problem{.n = 16, .value_lifetime = ValueLifetime::persistent};
    const TemporaryFolder folder;
    {
      const Topology topology = context.topology(operands.csr.view());
      context.plan(problem, topology).pack(nullptr, operands.arguments().values).save(folder / "weights.packed");
    }
    const Topology topology = context.topology(operands.csr.view());
    const SpmmPlan plan = context.plan(problem, topology);
    const PackedValues packed = context.load_packed(topology, folder / "weights.packed");
    const Workspace workspace = plan.make_workspace();
    plan.execute(nullptr, packed_arguments(operands, packed, workspace));
    test::device_of(context).synchronize(nullptr);
    CHECK(operands.error() <= operands.tolerance());
    CHECK(code_of([&] { test::memory_context("emulator").load_packed(topology, folder / "weights.packed"); }) ==
          ErrorCode::wrong_device);
  });
}

TEST_CASE("packing is refused in a capture, and an execute of packed values is recorded and replays") {
  INFO("seed " << seed);
  on_every_device([](const Context& context) {
    const sparse::Csr csr = sparse::uniform(60, 80, 0.7, seed);
    const Topology topology = context.topology(csr.view());
    const Spmm problem{.n = 16, .value_lifetime = ValueLifetime::persistent};
    const SpmmPlan plan = context.plan(problem, topology);
    device::Device& device = test::device_of(context);
    tune::SpmmCase operands(device, problem, csr, seed);
    const Workspace workspace = plan.make_workspace();
    operands.set_workspace(workspace);
    const PackedValues packed = plan.pack(nullptr, operands.values());
    operands.set_packed(packed);
    const auto recorded = device.record([&](Stream stream) {
      CHECK(code_of([&] { plan.pack(stream, operands.values()); }) == ErrorCode::capture_active);
      plan.execute(stream, operands.call());
    });
    for (int replay = 0; replay < 2; ++replay) CHECK(operands.verify(test::replaying(device, *recorded)).wrong == "");
  });
}

TEST_CASE("packed values and their topology may go right after execute") {
  INFO("seed " << seed);
  on_every_device([](const Context& context) {
    const std::int64_t size = context.device().gpu ? 2048 : 64;
    const SpmmOperands operands(context, sparse::uniform(size, size, 0.9, seed), 32, seed);
    const std::int64_t repeats = context.device().gpu ? 200 : 3;
    Workspace workspace;
    for (std::int64_t i = 0; i < repeats; ++i) {
      const Topology topology = context.topology(operands.csr.view());
      const SpmmPlan plan = context.plan(Spmm{.n = 32, .value_lifetime = ValueLifetime::persistent}, topology);
      if (i == 0) workspace = plan.make_workspace();
      const PackedValues packed = plan.pack(nullptr, operands.arguments().values);
      plan.execute(nullptr, packed_arguments(operands, packed, workspace));  // not the stream that packing waits for
    }
    test::device_of(context).synchronize(nullptr);
    CHECK(operands.error() <= operands.tolerance());
  });
}

TEST_CASE("effort quick races candidates on values that were packed once") {
  INFO("seed " << seed);
  on_every_device([](const Context& context) {
    const sparse::Csr csr = sparse::uniform(48, 64, 0.8, seed);
    const Topology topology = context.topology(csr.view());
    const Spmm problem{.n = 24, .value_lifetime = ValueLifetime::persistent};
    const SpmmPlan plan =
        context.plan(problem, topology, {.effort = Effort::quick, .budget_seconds = context.device().gpu ? 10.0 : 2.0});
    CHECK(plan.provenance() == Provenance::tuned_here);
    const SpmmOperands operands(context, csr, 24, seed);
    const PackedValues packed = plan.pack(nullptr, operands.arguments().values);
    const Workspace workspace = plan.make_workspace();
    plan.execute(nullptr, packed_arguments(operands, packed, workspace));
    test::device_of(context).synchronize(nullptr);
    CHECK(operands.error() <= operands.tolerance());
  });
}

TEST_CASE("plans of packed strips go on when the CSR arrays are gone: executing, packing, saving and loading") {
  INFO("seed " << seed);
  on_every_device([](const Context& context) {
    const SpmmOperands operands(context, sparse::uniform(512, 512, 0.3, seed), 128, seed);
    const Topology topology = context.topology(operands.csr.view());
    const SpmmPlan plan = context.plan(Spmm{.n = 128, .value_lifetime = ValueLifetime::persistent}, topology);
    if (!plan.packed_format().starts_with("strip")) {
      std::printf("packed strips without CSR skipped: %s is planned with %s\n", context.device().name.c_str(),
                  plan.family().c_str());
      return;
    }
    const Workspace workspace = plan.make_workspace();
    const PackedValues before = plan.pack(nullptr, operands.arguments().values);
    const std::vector<std::byte> saved = before.save();
    topology.release_source();
    CHECK(plan.packed_bytes() == before.bytes());
    const PackedValues after = plan.pack(nullptr, operands.arguments().values);
    CHECK(after.save() == saved);
    for (const PackedValues& packed : {before, after, context.load_packed(topology, saved)}) {
      plan.execute(nullptr, packed_arguments(operands, packed, workspace));
      test::device_of(context).synchronize(nullptr);
      CHECK(operands.error() <= operands.tolerance());
    }
    CHECK(context.plan(plan.problem(), topology).family() == plan.family());
  });
}
