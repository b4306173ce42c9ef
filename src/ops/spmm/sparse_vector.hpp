// sparse_vector on the host, in four parts: traits and launches (sparse_vector.cpp), rules, space, cost model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <abi/sparse_vector.h>

#include "ops/spmm/problem.hpp"

namespace vostok::ops {

std::unique_ptr<Family> make_sparse_vector();

namespace sparse_vector {

constexpr std::int64_t most_columns = 4;

/// What the problem fixes for the kernel.
SparseVectorTraits traits(const SpmmQuery& query);

/// Bytes of the workspace that packed values take, where every call packs its own.
std::int64_t workspace_bytes(const SpmmQuery& query, const SparseVectorConfig& config);

/// Why the family cannot serve the query at all; nothing where it can (sparse_vector_rules.cpp).
std::optional<std::string> declines(const SpmmQuery& query);

/// Why the kernel cannot run this config here; nothing where it can (sparse_vector_rules.cpp).
std::optional<std::string> forbidden(const SpmmQuery& query, const SparseVectorConfig& config);
/// Whether it can, without a text: spaces ask this of thousands.
bool admits(const SpmmQuery& query, const SparseVectorConfig& config);

/// Blocks of this config that share a multiprocessor, by its memory, threads and an estimate of the registers.
int resident_blocks(const SpmmQuery& query, const SparseVectorConfig& config);

/// Blocks that fill the device once, and the gaps that take the fewest bytes (sparse_vector_space.cpp).
SparseVectorConfig default_config(const SpmmQuery& query);
/// The config that asks for the least of the device.
SparseVectorConfig smallest_config(const SpmmQuery& query);

/// The whole space, default first, without repeats; the rules decide what of it is admitted.
std::vector<SparseVectorConfig> space(const SpmmQuery& query);

/// The likely best, default first.
std::vector<SparseVectorConfig> short_list(const SpmmQuery& query);

/// Predicted microseconds, for ranking (sparse_vector_cost.cpp).
double predict_us(const SpmmQuery& query, const SparseVectorConfig& config);

}  // namespace sparse_vector
}  // namespace vostok::ops
