// sparse_vector on the host, in four parts: traits and launches (sparse_vector.cpp), rules, space, cost model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <abi/sparse_vector.h>

#include "ops/spmm/problem.hpp"

namespace vostok::ops::sparse_vector {

constexpr std::int64_t most_columns = 4;

/// The kernel's traits, which the problem fixes.
SparseVectorTraits traits(const SpmmQuery& query);

/// Bytes of packed values in the workspace, if every call packs its own.
std::int64_t workspace_bytes(const SpmmQuery& query, const SparseVectorConfig& config);

/// Why the family cannot serve the query at all; nothing if it can (sparse_vector_rules.cpp).
std::optional<std::string> declines(const SpmmQuery& query);

/// Why the kernel cannot run this config here; nothing if it can (sparse_vector_rules.cpp).
std::optional<std::string> forbidden(const SpmmQuery& query, const SparseVectorConfig& config);
/// As forbidden() without its text, for searches over thousands of configs.
bool admits(const SpmmQuery& query, const SparseVectorConfig& config);

/// Resident blocks of this config on an SM, by shared memory, threads and an estimate of the registers.
int resident_blocks(const SpmmQuery& query, const SparseVectorConfig& config);

/// Blocks that fill the device once, and the gap width with the fewest bytes (sparse_vector_space.cpp).
SparseVectorConfig default_config(const SpmmQuery& query);
/// The config with the smallest demands on the device.
SparseVectorConfig smallest_config(const SpmmQuery& query);

/// The whole space, default first, without repeats, legal or not.
std::vector<SparseVectorConfig> space(const SpmmQuery& query);

/// The configs likely to be best, default first.
std::vector<SparseVectorConfig> short_list(const SpmmQuery& query);

/// Predicted microseconds, for ranking (sparse_vector_cost.cpp).
double predict_us(const SpmmQuery& query, const SparseVectorConfig& config);

}  // namespace vostok::ops::sparse_vector
