// SDDMM over a list of masks: the weight gradient of their layers, ours beside cuSPARSE and cuBLAS in one process, and
// against times that others reached elsewhere.
#include <CLI/CLI.hpp>

#include "base/text.hpp"
#include "bench/harness/operation_bench.hpp"
#include "bench/harness/spmm_sets.hpp"
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

/// Of an attention mask of 12288 positions, or of the problem list.
std::vector<Target> targets(const ComparisonOptions& options) {
  if (options.element != Dtype::f32) return {};
  if (!options.synthetic)
    return {{.of = "all problems", .other = better_sparse_peer, .floor = 2, .stretch = 3, .each = true}};
  const auto attention = [](double sparsity, double floor_us, double stretch_us) {
    return Target{.of = fmt::format("attention, {:.0f} %", 100 * sparsity),
                  .measure = Measure::time_us,
                  .where = {.least_n = 64, .most_n = 64, .least_sparsity = sparsity, .most_sparsity = sparsity},
                  .floor = floor_us,
                  .stretch = stretch_us};
  };
  return {attention(0.9, 116, 105), attention(0.95, 103, 92), attention(0.98, 93, 80)};
}

Entry make_entry(const OperationBench& bench, const ComparisonOptions& options, const Problem& listed,
                 Matrices& matrices) {
  auto planning = plan_entry<tune::SddmmCase>(bench.context(), bench.device(), options, matrices,
                                              Sddmm{.n = listed.n, .element = options.element});
  const SddmmArguments& call = planning.call();
  add_peers(planning.entry, bench.peers(),
            SddmmOperands{.mask = matrices.for_peers(),
                          .n = listed.n,
                          .element = options.element,
                          .lhs = call.lhs,
                          .rhs = call.rhs,
                          .output = call.output});
  return std::move(planning.entry);
}

}  // namespace
}  // namespace vostok::bench

int main(int argc, char** argv) {
  using namespace vostok::bench;
  ComparisonOptions options;
  std::string set;
  CLI::App app(
      "SDDMM over a list of masks, N the inner size, beside cuSPARSE and cuBLAS's whole dense product. cuSPARSE has no "
      "bf16 here. "
      "The exit status is 0 when every problem was verified.",
      "bench_sddmm");
  add_options(app, options);
  app.add_option("--set", set,
                 "The masks of a set of bench_spmm instead of the list, e.g. rnn: n of a problem is the inner size");
  return run_program(app, argc, argv, options, [&] {
    OperationFacts facts{
        .name = "sddmm", .baseline_columns = baseline_columns(options.element), .targets = targets(options)};
    if (!set.empty())
      facts = {.name = "sddmm",
               .baseline_columns = facts.baseline_columns,
               .problem = {{"set", set}},
               .made = find_spmm_set(set).problems};
    OperationBench bench(std::move(facts), options);
    return bench.run([&](const Problem& listed, Matrices& matrices) {
      return make_entry(bench, options, listed, matrices);
    }) == 0
               ? 0
               : 1;
  });
}
