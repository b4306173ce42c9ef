// SDDMM over a list of masks: the weight gradient of their layers, ours beside cuSPARSE and cuBLAS in one process, and against times
// that others reached elsewhere.
#include <CLI/CLI.hpp>

#include "bench/harness/operation_bench.hpp"
#include "tune/sddmm_case.hpp"

namespace vostok::bench {
namespace {

/// The file calls the mask m x n and the inner size k; only f32 was measured there.
BaselineColumns baseline_columns(Dtype element) {
  BaselineColumns columns{.rows = "m", .cols = "n", .n = "k", .times = {}};
  if (element == Dtype::f32)
    columns.times = {{"sputnik_f32_us", "sputnik"},
                     {"cusparse_f32_us", "cusparse"},
                     {"cublas_sgemm_dense_us", "cublas_sgemm"},
                     {"cublas_tf32_dense_us", "cublas_tf32"}};
  return columns;
}

std::vector<Target> targets(Dtype element) {
  if (element != Dtype::f32) return {};
  return {{.other = better_sparse_peer, .geomean = 1.5, .share = 0.9}};
}

Entry make_entry(const OperationBench& bench, const ComparisonOptions& options, const Problem& listed) {
  auto planning = plan_entry<tune::SddmmCase>(bench.context(), bench.device(), options, listed, Sddmm{.n = listed.n, .element = options.element});
  const SddmmArguments& call = planning.call();
  planning.entry.peers = prepare_peers(
      bench.peers(),
      SddmmOperands{
          .mask = planning.peer_matrix(), .n = listed.n, .element = options.element, .lhs = call.lhs, .rhs = call.rhs, .output = call.output});
  return std::move(planning.entry);
}

}  // namespace
}  // namespace vostok::bench

int main(int argc, char** argv) {
  using namespace vostok::bench;
  ComparisonOptions options;
  CLI::App app(
      "SDDMM over a list of masks, N the inner size, beside cuSPARSE and cuBLAS's whole dense product. cuSPARSE has no bf16 here. "
      "The exit status is 0 when every problem was verified.",
      "bench_sddmm");
  add_options(app, options);
  return run_program(app, argc, argv, options, [&] {
    OperationBench bench({.name = "sddmm", .baseline_columns = baseline_columns(options.element), .targets = targets(options.element)}, options);
    return bench.run([&](const Problem& listed) { return make_entry(bench, options, listed); }) == 0 ? 0 : 1;
  });
}
