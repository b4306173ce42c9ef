// SpMM over a list of matrices: ours beside cuSPARSE and cuBLAS in one process, and against times that others reached
// elsewhere.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/text.hpp"
#include "bench/harness/operation_bench.hpp"
#include "bench/harness/spmm_sets.hpp"
#include "bench/harness/spmm_way.hpp"
#include "bench/peers/rotation.hpp"
#include "cli/enum_option.hpp"
#include "plan/plan_state.hpp"

namespace vostok::bench {
namespace {

struct SpmmOptions : ComparisonOptions {
  std::string set = spmm_sets().front().name;
  bool list = false;
  bool transposed = false;
  bool linear = false;  ///< as a framework's linear layer, beside the row-major product
  Math math = Math::accurate;
  ValueLifetime value_lifetime = ValueLifetime::persistent;
  std::int64_t cold_bytes = 0;  ///< 0: as much as this device's cache needs
};

BaselineColumns baseline_columns(const SpmmOptions& options) {
  BaselineColumns columns{.rows = "m", .cols = "k", .n = "n", .times = {}};
  if (options.transposed || options.linear || options.policy == Policy::cold) return columns;
  if (options.element == Dtype::f32)
    columns.times = {{"sputnik_f32_us", "sputnik"},
                     {"cusparse_f32_us", "cusparse"},
                     {"cublas_sgemm_us", "cublas_sgemm"},
                     {"cublas_tf32_us", "cublas_tf32"}};
  if (options.element == Dtype::f16)
    columns.times = {{"sputnik_f16_us", "sputnik"}, {"cusparse_f16_us", "cusparse"}, {"cublas_f16_us", "cublas_f16"}};
  return columns;
}

std::vector<Target> targets(const SpmmOptions& options, const SpmmSet& set) {
  if (options.transposed || options.linear) return {};
  return set.targets({.element = options.element, .math = options.math});
}

/// One plan of the listed problem with its operands, ready to run.
struct Prepared {
  Planning<Spmm> planning;
  std::shared_ptr<tune::SpmmCase> operands = {};
};

Prepared prepare(const OperationBench& bench, const SpmmOptions& options, std::int64_t rotated_bytes,
                 const Spmm& problem, Matrices& matrices) {
  Prepared prepared{.planning =
                        plan_problem<tune::SpmmCase>(bench.context(), bench.device(), options, matrices, problem)};
  Entry& entry = prepared.planning.entry;
  if (entry.plan.state()->choices.empty()) return prepared;
  prepared.operands = std::static_pointer_cast<tune::SpmmCase>(entry.operands);
  SpmmWay way = make_way(bench.device(), prepared.planning.plan, matrices, prepared.operands, rotated_bytes);
  entry.period = static_cast<int>(way.calls.size());
  entry.execute = in_turn(std::move(way.calls));
  entry.packing = way.packing;
  entry.weights = way.weights;
  entry.weights["dense_bytes"] = entry.statistics.rows * entry.statistics.cols * size_of(options.element);
  return prepared;
}

/// A linear layer's product: activations are [tokens, features], and each feature has a bias.
Spmm as_linear(Spmm problem) {
  problem.dense_layout = problem.output_layout = Layout::column_major;
  problem.epilogue.bias = Bias::per_row;
  return problem;
}

Entry make_entry(const OperationBench& bench, const SpmmOptions& options, std::int64_t rotated_bytes,
                 const Problem& listed, Matrices& matrices) {
  const Spmm plain{.n = listed.n,
                   .element = options.element,
                   .sparse_transposed = options.transposed,
                   .math = options.math,
                   .value_lifetime = options.value_lifetime};
  Prepared ours = prepare(bench, options, rotated_bytes, options.linear ? as_linear(plain) : plain, matrices);
  Entry& entry = ours.planning.entry;
  if (!ours.operands) return std::move(entry);
  ours.planning.add_heuristic(
      [&] { return make_way(bench.device(), ours.planning.heuristic, matrices, ours.operands, rotated_bytes).calls; });
  const std::size_t own = entry.peers.size();
  std::shared_ptr<tune::SpmmCase> row_major = ours.operands;
  if (options.linear) {
    const Prepared other = prepare(bench, options, rotated_bytes, plain, matrices);
    row_major = other.operands;
    entry.peers.push_back({.peer = "row-major, no bias",
                           .variant = other.planning.plan.family(),
                           .enqueue = other.planning.entry.execute,
                           .period = other.planning.entry.period});
  }
  const SpmmArguments& call = row_major->call();
  add_peers(entry, bench.peers(),
            SpmmOperands{.matrix = matrices.for_peers(),
                         .n = listed.n,
                         .element = options.element,
                         .transposed = options.transposed,
                         .values = call.values,
                         .dense = call.dense,
                         .output = call.output,
                         .rotated_bytes = rotated_bytes});
  if (options.linear)
    for (std::size_t i = own; i < entry.peers.size(); ++i) entry.peers[i].operands = row_major;
  return std::move(entry);
}

/// What the set says, where the command line says nothing.
void complete(SpmmOptions& options, const CLI::App& app, const SpmmSet& set) {
  if (app.count("--dtype") == 0) options.element = set.element;
  if (app.count("--value-lifetime") == 0) options.value_lifetime = set.value_lifetime;
  if (app.count("--policy") == 0) options.policy = set.policy;
  if (app.count("--peers") == 0) options.peers = set.peers;
}

void list(const SpmmOptions& options, const SpmmSet& chosen) {
  for (const SpmmSet& set : spmm_sets())
    std::fputs(fmt::format("{}{:<12}{} ({}, {}, {})\n", set.name == chosen.name ? "* " : "  ", set.name, set.what,
                           name(set.element), name(set.value_lifetime), name(set.policy))
                   .c_str(),
               stdout);
  const std::vector<Problem> problems =
      chosen.problems.empty() ? read_problems(options) : select(chosen.problems, options.selection, chosen.name);
  for (const Problem& problem : problems) std::fputs((label(problem) + "\n").c_str(), stdout);
}

std::size_t run(const SpmmOptions& options, const SpmmSet& set) {
  OperationFacts facts{.name = "spmm",
                       .baseline_columns = baseline_columns(options),
                       .targets = targets(options, set),
                       .problem = {{"set", set.name},
                                   {"sparse_transposed", options.transposed},
                                   {"linear", options.linear},
                                   {"math", name(options.math)},
                                   {"value_lifetime", name(options.value_lifetime)},
                                   {"policy", name(options.policy)}},
                       .made = set.problems};
  OperationBench bench(std::move(facts), options);
  const std::int64_t enough_bytes = options.cold_bytes > 0 ? options.cold_bytes : cold_bytes(bench.context().device());
  const std::int64_t rotated_bytes = options.policy == Policy::cold ? enough_bytes : 0;
  bench.note("rotated_bytes", rotated_bytes);
  return bench.run([&](const Problem& listed, Matrices& matrices) {
    return make_entry(bench, options, rotated_bytes, listed, matrices);
  });
}

}  // namespace
}  // namespace vostok::bench

int main(int argc, char** argv) {
  using namespace vostok::bench;
  SpmmOptions options;
  CLI::App app(
      "SpMM over a list of matrices, beside cuSPARSE and cuBLAS. The exit status is 0 when every problem was verified.",
      "bench_spmm");
  add_options(app, options);
  app.add_option("--set", options.set, "Problems, and what they are to reach; --list shows the sets")
      ->capture_default_str();
  app.add_flag("--list", options.list, "Print the sets and the problems of the chosen one");
  app.add_flag("--transpose", options.transposed, "Compute A^T B; the baselines have no times of it");
  app.add_flag("--linear", options.linear,
               "Ours with column-major B and C and a bias, as a linear layer of PyTorch has them; row-major ours and "
               "the peers beside it");
  vostok::cli::add_enum_option(app, "--math", options.math, "strict, accurate or tf32");
  vostok::cli::add_enum_option(app, "--value-lifetime", options.value_lifetime,
                               "per_call, or persistent: values are packed once, outside the timing");
  vostok::cli::add_enum_option(app, "--policy", options.policy,
                               "warm, or cold: weights rotate through copies that no cache holds, ours and the peers'");
  app.add_option("--cold-bytes", options.cold_bytes,
                 "What those copies take together (default: over 220 MB and three times the cache)")
      ->check(CLI::NonNegativeNumber);
  return run_program(app, argc, argv, options, [&] {
    const SpmmSet& set = find_spmm_set(options.set);
    complete(options, app, set);
    if (options.list) return list(options, set), 0;
    return run(options, set) == 0 ? 0 : 1;
  });
}
