// Where a job's sparse matrix comes from: a file, a random mask, a band.
#pragma once

#include <string>
#include <vector>

#include <vostok/context.hpp>

#include "cli/job.hpp"
#include "cli/run_options.hpp"
#include "sparse/csr.hpp"

namespace vostok::cli {

/// The matrix and its topology; both empty for jobs without one.
struct Loaded {
  sparse::Csr matrix = {};
  Topology topology = {};
};

/// What can be said without reading a file. Errors: invalid_argument where a job that needs a matrix has none, or a malformed one.
void require_matrix(const RunOptions& options, const Job& job);

/// Errors: io_failure, invalid_topology, out_of_memory, those of require_matrix.
sparse::Csr load_matrix(const RunOptions& options, const Job& job);

/// The topology of what load_matrix gave.
Loaded make_topology(const Context& context, sparse::Csr matrix);

/// Both steps; nothing for jobs without a matrix.
Loaded load(const RunOptions& options, const Job& job, const Context& context);

/// What of the matrix is not as the options asked for, if anything.
std::vector<std::string> source_notes(const RunOptions& options, const TopologyStatistics& made);

/// "layer.smtx", "random 64x64x0.9, seed 1"
std::string source_words(const RunOptions& options);

}  // namespace vostok::cli
