// Loads a job's sparse matrix from its source: a file, a random matrix, a band.
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

/// Checks everything that needs no file. Errors: invalid_argument if a job that needs a matrix has none, or a malformed
/// one.
void require_matrix(const RunOptions& options, const Job& job);

/// Errors: io_failure, invalid_topology, out_of_memory, those of require_matrix.
sparse::Csr load_matrix(const RunOptions& options, const Job& job);

/// The topology of a matrix from load_matrix.
Loaded make_topology(const Context& context, sparse::Csr matrix);

/// Both steps; nothing for jobs without a matrix.
Loaded load(const RunOptions& options, const Job& job, const Context& context);

/// Notes about differences between the made matrix and the options, if any.
std::vector<std::string> source_notes(const RunOptions& options, const TopologyStatistics& made);

/// "layer.smtx", "random 64x64x0.9, seed 1"
std::string source_words(const RunOptions& options);

}  // namespace vostok::cli
