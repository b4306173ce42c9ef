#include "cli/matrix_source.hpp"

#include <cmath>
#include <utility>

#include "base/text.hpp"
#include "cli/random_matrix.hpp"
#include "plan/tools.hpp"
#include "sparse/read.hpp"

namespace vostok::cli {

namespace {

void require_memory(const Job& job, std::int64_t rows, std::int64_t cols, std::int64_t nonzeros) {
  require_host_memory(job.operation(), job.describe({.rows = rows, .cols = cols, .nonzeros = nonzeros}).footprint);
}

}  // namespace

void require_matrix(const RunOptions& options, const Job& job) {
  if (!job.masked() || !options.matrix.empty()) return;
  if (!options.band.empty()) parse_band(options.band, options.plan.seed);
  else if (!options.random.empty()) parse_random_matrix(options.random);
  else
    fail(ErrorCode::invalid_argument, "cannot run {}: give --matrix FILE or --random ROWSxCOLSxSPARSITY",
         job.operation());
}

sparse::Csr load_matrix(const RunOptions& options, const Job& job) {
  require_matrix(options, job);
  sparse::Csr matrix;
  if (!options.matrix.empty()) {
    matrix = sparse::read(options.matrix);
  } else if (!options.band.empty()) {
    const AttentionMask band = parse_band(options.band, options.plan.seed);
    require_memory(job, band.rows, band.cols, expected_nonzeros(band));
    matrix = plan::host_mask(band);
  } else if (job.masked()) {
    const RandomMatrix shape = parse_random_matrix(options.random);
    require_memory(job, shape.rows, shape.cols, shape.nonzeros());
    matrix = make_random_matrix(shape, options.plan.seed);
  }
  require_memory(job, matrix.rows, matrix.cols, matrix.nonzeros());
  return matrix;
}

Loaded make_topology(const Context& context, sparse::Csr matrix) {
  Topology topology = context.topology(matrix.view());
  return {.matrix = std::move(matrix), .topology = std::move(topology)};
}

Loaded load(const RunOptions& options, const Job& job, const Context& context) {
  if (!job.masked()) return {};
  return make_topology(context, load_matrix(options, job));
}

std::vector<std::string> source_notes(const RunOptions& options, const TopologyStatistics& made) {
  if (!options.matrix.empty() || !options.band.empty() || options.random.empty()) return {};
  constexpr double near = 0.05;
  const double wanted = parse_random_matrix(options.random).row_variation;
  if (wanted == 0 || std::fabs(made.row_variation - wanted) <= near * wanted) return {};
  return {fmt::format("its row CoV is {:.3g}, not {:g}: no nearer one was found for its shape and sparsity",
                      made.row_variation, wanted)};
}

std::string source_words(const RunOptions& options) {
  if (!options.matrix.empty()) return options.matrix;
  if (!options.band.empty()) return fmt::format("band {}, seed {}", options.band, options.plan.seed);
  return fmt::format("random {}, seed {}", options.random, options.plan.seed);
}

}  // namespace vostok::cli
