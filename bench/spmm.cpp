// SpMM over a list of matrices: ours beside cuSPARSE and cuBLAS in one process, and against times that others reached elsewhere.
#include <CLI/CLI.hpp>

#include "bench/harness/operation_bench.hpp"
#include "cli/enum_option.hpp"
#include "plan/packed.hpp"
#include "tune/samples.hpp"
#include "tune/spmm_case.hpp"

namespace vostok::bench {
namespace {

struct SpmmOptions : ComparisonOptions {
  bool transposed = false;
  bool power_law = false;
  ValueLifetime value_lifetime = ValueLifetime::per_call;
};

BaselineColumns baseline_columns(const SpmmOptions& options) {
  BaselineColumns columns{.rows = "m", .cols = "k", .n = "n", .times = {}};
  if (options.transposed) return columns;
  if (options.element == Dtype::f32)
    columns.times = {
        {"sputnik_f32_us", "sputnik"}, {"cusparse_f32_us", "cusparse"}, {"cublas_sgemm_us", "cublas_sgemm"}, {"cublas_tf32_us", "cublas_tf32"}};
  if (options.element == Dtype::f16)
    columns.times = {{"sputnik_f16_us", "sputnik"}, {"cusparse_f16_us", "cusparse"}, {"cublas_f16_us", "cublas_f16"}};
  return columns;
}

std::vector<Target> targets(const SpmmOptions& options) {
  if (options.transposed) return {};
  if (options.power_law) return {{.other = better_sparse_peer, .geomean = 1.2}};
  switch (options.element) {
    case Dtype::f32: return {{.other = better_sparse_peer, .geomean = 1.15, .share = 0.9}};
    case Dtype::f16: return {{.other = better_sparse_peer, .geomean = 1.3}};
    default: return {};
  }
}

/// Packs the case's values once, notes what that takes, and has every execute read them.
void pack_once(device::Device& device, Planning<Spmm>& planning, const Spmm& problem) {
  tune::Case& operands = *planning.entry.operands;
  const void* const values = operands.values();
  const PackedValues packed = planning.plan.pack(nullptr, values);
  const plan::PackSource source{.values = values, .element = problem.element, .stride = planning.topology.nonzeros()};
  const tune::TimedLaunches timed = tune::record_timed(device, [&](Stream stream) { plan::queue_packing(*packed.state(), source, stream); });
  constexpr int samples = 9;
  std::vector<double> samples_us;
  for (int i = 0; i < samples; ++i) samples_us.push_back(timed.sample_us());
  planning.entry.packing = {{"format", packed.format()}, {"bytes", packed.bytes()}, {"us", tune::summarise(samples_us).median_us}};
  operands.set_packed(packed);
  planning.entry.execute = [packed, execute = planning.entry.execute](Stream stream) { execute(stream); };
}

Entry make_entry(const OperationBench& bench, const SpmmOptions& options, const Problem& listed) {
  const Spmm problem{.n = listed.n, .element = options.element, .sparse_transposed = options.transposed, .value_lifetime = options.value_lifetime};
  auto planning = plan_entry<tune::SpmmCase>(bench.context(), bench.device(), options, listed, problem);
  const SpmmArguments& call = planning.call();
  planning.entry.peers = prepare_peers(bench.peers(), SpmmOperands{.matrix = planning.peer_matrix(),
                                                                   .n = listed.n,
                                                                   .element = options.element,
                                                                   .transposed = options.transposed,
                                                                   .values = call.values,
                                                                   .dense = call.dense,
                                                                   .output = call.output});
  if (problem.value_lifetime == ValueLifetime::persistent) pack_once(bench.device(), planning, problem);
  return std::move(planning.entry);
}

}  // namespace
}  // namespace vostok::bench

int main(int argc, char** argv) {
  using namespace vostok::bench;
  SpmmOptions options;
  CLI::App app("SpMM over a list of matrices, beside cuSPARSE and cuBLAS. The exit status is 0 when every problem was verified.", "bench_spmm");
  add_options(app, options);
  app.add_flag("--power-law", options.power_law, "Take made graphs of a million nonzeros instead of a list");
  app.add_flag("--transpose", options.transposed, "Compute A^T B; the baselines have no times of it");
  vostok::cli::add_enum_option(app, "--value-lifetime", options.value_lifetime,
                               "per_call, or persistent: values are packed once, outside the timing");
  return run_program(app, argc, argv, options, [&] {
    OperationBench bench({.name = "spmm",
                          .baseline_columns = baseline_columns(options),
                          .targets = targets(options),
                          .problem = {{"sparse_transposed", options.transposed}, {"value_lifetime", name(options.value_lifetime)}},
                          .made = options.power_law ? power_law_problems() : std::vector<Problem>()},
                         options);
    return bench.run([&](const Problem& listed) { return make_entry(bench, options, listed); }) == 0 ? 0 : 1;
  });
}
