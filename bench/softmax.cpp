// Softmax over the rows of a list of masks. No library that can be run beside ours has it: what it is compared with are
// the times of Sputnik's, reached elsewhere, and what moving the bytes costs.
#include <CLI/CLI.hpp>

#include "bench/harness/operation_bench.hpp"
#include "tune/softmax_case.hpp"

namespace vostok::bench {
namespace {

/// What an H200 copies, reads and writes together. A warm problem that fits in its 60 MB of L2 may be faster.
constexpr double h200_bytes_per_us = 4.3e6;
/// Where Sputnik's softmax takes less, a launch decides.
constexpr double least_us = 4;

BaselineColumns baseline_columns(Dtype element) {
  BaselineColumns columns{.rows = "m", .cols = "n", .n = nullptr, .times = {}};
  if (element == Dtype::f32) columns.times = {{"sputnik_softmax_us", "sputnik"}};
  return columns;
}

std::vector<Target> targets(Dtype element) {
  if (element != Dtype::f32) return {};
  return {{.of = "where Sputnik takes 4 us and more",
           .other = baseline_name("sputnik"),
           .where = {.least_us = least_us},
           .floor = 1.2,
           .stretch = 1.5}};
}

Entry make_entry(const OperationBench& bench, const ComparisonOptions& options, Matrices& matrices) {
  auto planning = plan_entry<tune::SoftmaxCase>(bench.context(), bench.device(), options, matrices,
                                                Softmax{.element = options.element});
  const TopologyStatistics& statistics = planning.entry.statistics;
  const auto elements_bytes = [&](double elements) {
    return 2 * elements * size_of(options.element);
  };  // read and written
  const double offsets_bytes = 4 * static_cast<double>(statistics.rows + 1);
  const double whole = static_cast<double>(statistics.rows) * static_cast<double>(statistics.cols);
  planning.entry.bounds_us = {
      {"sparse_bytes", (elements_bytes(static_cast<double>(statistics.nonzeros)) + offsets_bytes) / h200_bytes_per_us},
      {"dense_bytes", elements_bytes(whole) / h200_bytes_per_us}};
  return std::move(planning.entry);
}

}  // namespace
}  // namespace vostok::bench

int main(int argc, char** argv) {
  using namespace vostok::bench;
  ComparisonOptions options;
  CLI::App app(
      "Softmax over the rows of a list of masks, each once, beside what an H200 needs to move the bytes of the "
      "nonzeros, and of the "
      "whole dense matrix, at 4.3 TB/s. The exit status is 0 when every problem was verified.",
      "bench_softmax");
  add_options(app, options);
  options.no_peers = true;
  return run_program(app, argc, argv, options, [&] {
    OperationBench bench({.name = "softmax",
                          .baseline_columns = baseline_columns(options.element),
                          .targets = targets(options.element),
                          .has_size = false},
                         options);
    return bench.run([&](const Problem&, Matrices& matrices) { return make_entry(bench, options, matrices); }) == 0 ? 0
                                                                                                                    : 1;
  });
}
