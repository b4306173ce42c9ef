// sparse_tensor_mma on the host, in four parts: launches (sparse_tensor_mma.cpp), rules, space, cost model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <abi/sparse_tensor_mma.h>

#include "ops/spmm/problem.hpp"
#include "ops/spmm/sparse_tensor.hpp"

namespace vostok::ops {

std::unique_ptr<Family> make_sparse_tensor_mma();

namespace sparse_tensor_mma {

sparse_tensor::Workspace workspace(const SpmmQuery& query, const SparseTensorMmaConfig& config);

/// Why the family cannot serve the query at all; nothing if it can (sparse_tensor_mma_rules.cpp).
std::optional<std::string> declines(const SpmmQuery& query);

/// Why the kernel cannot run this config here; nothing if it can (sparse_tensor_mma_rules.cpp).
std::optional<std::string> forbidden(const SpmmQuery& query, const SparseTensorMmaConfig& config);
/// As forbidden() without its text, for searches over thousands of configs.
bool admits(const SpmmQuery& query, const SparseTensorMmaConfig& config);

/// Resident blocks of this config on an SM, by shared memory, threads and an estimate of the registers.
int resident_blocks(const SpmmQuery& query, const SparseTensorMmaConfig& config);

/// The cost model's best config (sparse_tensor_mma_space.cpp).
SparseTensorMmaConfig default_config(const SpmmQuery& query);
/// The config with the smallest demands on the device.
SparseTensorMmaConfig smallest_config(const SpmmQuery& query);

/// The whole space, default first, without repeats, legal or not.
std::vector<SparseTensorMmaConfig> space(const SpmmQuery& query);

/// The cost model's best configs, default first.
std::vector<SparseTensorMmaConfig> short_list(const SpmmQuery& query);

/// Predicted microseconds, for ranking (sparse_tensor_mma_cost.cpp).
double predict_us(const SpmmQuery& query, const SparseTensorMmaConfig& config);

}  // namespace sparse_tensor_mma
}  // namespace vostok::ops
