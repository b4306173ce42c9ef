// SpMM over a list of matrices: ours beside cuSPARSE and cuBLAS in one process, and against times that others reached elsewhere.
#include <CLI/CLI.hpp>

#include "bench/harness/operation_bench.hpp"
#include "tune/spmm_case.hpp"

namespace vostok::bench {
namespace {

struct SpmmOptions : ComparisonOptions {
  bool transposed = false;
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
  switch (options.element) {
    case Dtype::f32: return {{.other = better_sparse_peer, .geomean = 1.15, .share = 0.9}};
    case Dtype::f16: return {{.other = better_sparse_peer, .geomean = 1.3}};
    default: return {};
  }
}

Entry make_entry(const OperationBench& bench, const SpmmOptions& options, const Problem& listed) {
  const Spmm problem{.n = listed.n, .element = options.element, .sparse_transposed = options.transposed};
  auto planning = plan_entry<tune::SpmmCase>(bench.context(), bench.device(), options, listed, problem);
  const SpmmArguments& call = planning.call();
  planning.entry.peers = prepare_peers(bench.peers(), SpmmOperands{.matrix = planning.peer_matrix(),
                                                                   .n = listed.n,
                                                                   .element = options.element,
                                                                   .transposed = options.transposed,
                                                                   .values = call.values,
                                                                   .dense = call.dense,
                                                                   .output = call.output});
  return std::move(planning.entry);
}

}  // namespace
}  // namespace vostok::bench

int main(int argc, char** argv) {
  using namespace vostok::bench;
  SpmmOptions options;
  CLI::App app("SpMM over a list of matrices, beside cuSPARSE and cuBLAS. The exit status is 0 when every problem was verified.", "bench_spmm");
  add_options(app, options);
  app.add_flag("--transpose", options.transposed, "Compute A^T B; the baselines have no times of it");
  return run_program(app, argc, argv, options, [&] {
    OperationBench bench({.name = "spmm",
                          .baseline_columns = baseline_columns(options),
                          .targets = targets(options),
                          .problem = {{"sparse_transposed", options.transposed}}},
                         options);
    return bench.run([&](const Problem& listed) { return make_entry(bench, options, listed); }) == 0 ? 0 : 1;
  });
}
