// Every family of SpMM that takes values either way: packed once they give the bits that packed or read at every call
// they give.
#include <doctest/doctest.h>

#include "device/family_run.hpp"
#include "device/topology_harness.hpp"
#include "device/uneven_mask.hpp"
#include "plan/packed.hpp"
#include "tune/spmm_case.hpp"

using namespace vostok;

namespace {

constexpr std::uint64_t seed = 71;

/// Problems whose C is stored without gaps.
std::vector<Spmm> problems() {
  std::vector<Spmm> list = {
      {.n = 24},
      {.n = 24, .math = Math::tf32},
      {.n = 9, .element = Dtype::f16, .output = Dtype::f32},
      {.n = 32, .element = Dtype::bf16},
      {.n = 16, .sparse_transposed = true},
      {.n = 16, .element = Dtype::f16, .sparse_transposed = true},
      {.n = 8, .batch = 3},
      {.n = 8, .batch = 3, .values_per_batch = true},
      {.n = 8, .batch = 2, .values_per_batch = true, .element = Dtype::f16, .sparse_transposed = true},
      {.n = 1, .element = Dtype::f16},
      {.n = 3, .batch = 2, .values_per_batch = true, .sparse_transposed = true},
      {.n = 16, .epilogue = {.bias = Bias::per_row, .activation = Activation::relu, .scale = Scale::host}}};
  return test::affordable(std::move(list), 2);
}

/// C after a run that was verified.
std::vector<std::byte> run(device::Device& device, const ops::Family& family, const ops::SpmmQuery& query,
                           const ops::Config& config, TopologyState& topology, tune::SpmmCase& operands) {
  const tune::Check check =
      test::run_family(device, family, query, config, topology.pointers(family.needs(query, config)), operands);
  CHECK_MESSAGE(check.wrong.empty(), check.wrong);
  const Dtype type = query.problem.output.value_or(query.problem.element);
  std::vector<std::byte> output(
      static_cast<std::size_t>(query.statistics.rows * query.problem.n * query.problem.batch * size_of(type)));
  device.copy_to_host(output.data(), operands.call().output, static_cast<std::int64_t>(output.size()));
  return output;
}

struct Runs {
  int all = 0;
  int of_packed_strips = 0;
};

/// Of the first of a short list three; on the emulator, where each takes a host compiler to make, the next one at every
/// problem.
std::vector<ops::Config> some_of(std::vector<ops::Config> configs, std::size_t turn, bool emulated) {
  configs.resize(std::min<std::size_t>(configs.size(), 3));
  if (!emulated || configs.empty()) return configs;
  return {configs[turn % configs.size()]};
}

/// The default and some of the short list of each family that serves the problem, which is number `turn`.
void check(const test::StepDevice& on, const Spmm& per_call, const sparse::Csr& csr, std::size_t turn, Runs& runs) {
  device::Device& device = on.device();
  const Topology topology(on.topology(csr.view()));
  Spmm persistent = per_call;
  persistent.value_lifetime = ValueLifetime::persistent;
  const TopologyStatistics statistics = topology.state()->statistics(per_call.sparse_transposed);
  const auto query = ops::make_query(per_call, statistics, {per_call.n, per_call.n}, &device);
  const auto packed_query = ops::make_query(persistent, statistics, {per_call.n, per_call.n}, &device);
  for (const auto& family : ops::families("spmm")) {
    if (family->declines(*query)) continue;
    CHECK_FALSE(family->declines(*packed_query));
    for (const ops::Config& config : some_of(family->short_list(*query), turn, on.on.is_emulator())) {
      if (family->forbidden(*query, config) || family->forbidden(*packed_query, config)) continue;
      INFO(on.on.name << ": " << family->name() << " " << to_text(config.to_map()) << ", " << ops::exact_key(per_call));
      tune::SpmmCase operands(device, per_call, csr, seed);
      const std::vector<std::byte> expected = run(device, *family, *query, config, *topology.state(), operands);
      const std::string format = family->packed_format(*packed_query, config);
      const PackedValues packed = plan::pack(
          topology, plan::packed_kind(*packed_query, format),
          {.values = operands.values(), .element = per_call.element, .stride = query->value_stride()}, nullptr);
      operands.set_packed(packed);
      CHECK(run(device, *family, *packed_query, config, *topology.state(), operands) == expected);
      CHECK(family->workspace_bytes(*packed_query, config) <= family->workspace_bytes(*query, config));
      ++runs.all;
      if (!format.empty()) ++runs.of_packed_strips;
    }
  }
}

}  // namespace

TEST_CASE("every family gives the same bits from values that are packed once as from values of the call") {
  INFO("seed " << seed);
  if (test::thread_sanitized) MESSAGE("skipped: the larger mask, which takes ThreadSanitizer too long");
  for (const test::StepDevice& on : test::step_devices()) {
    Runs runs;
    std::size_t turn = 0;
    for (const Spmm& problem : problems()) {
      if (!test::thread_sanitized) check(on, problem, sparse::uniform(130, 200, 0.8, seed), turn, runs);
      check(on, problem, test::uneven_mask(40, 70, seed + 1), turn, runs);
      ++turn;
    }
    CHECK(runs.all > 0);
    if (runs.of_packed_strips == 0)
      std::printf("packed strips of %s skipped: no family that reads them runs there\n", on.on.name.c_str());
  }
}
