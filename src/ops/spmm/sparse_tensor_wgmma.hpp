// sparse_tensor_wgmma on the host, in four parts: launches (sparse_tensor_wgmma.cpp), rules, space, cost model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <abi/sparse_tensor_wgmma.h>

#include "ops/spmm/problem.hpp"
#include "ops/spmm/sparse_tensor.hpp"

namespace vostok::ops {

namespace sparse_tensor_wgmma {

sparse_tensor::Workspace workspace(const SpmmQuery& query, const SparseTensorWgmmaConfig& config);

/// Why the family cannot serve the query at all; nothing if it can (sparse_tensor_wgmma_rules.cpp).
std::optional<std::string> declines(const SpmmQuery& query);

/// Why the kernel cannot run this config here; nothing if it can (sparse_tensor_wgmma_rules.cpp).
std::optional<std::string> forbidden(const SpmmQuery& query, const SparseTensorWgmmaConfig& config);
/// As forbidden() without its text, for searches over thousands of configs.
bool admits(const SpmmQuery& query, const SparseTensorWgmmaConfig& config);

/// The cost model's best config (sparse_tensor_wgmma_space.cpp).
SparseTensorWgmmaConfig default_config(const SpmmQuery& query);
/// The config with the smallest demands on the device.
SparseTensorWgmmaConfig smallest_config(const SpmmQuery& query);

/// The whole space, default first, without repeats, legal or not.
std::vector<SparseTensorWgmmaConfig> space(const SpmmQuery& query);

/// The cost model's best configs, default first.
std::vector<SparseTensorWgmmaConfig> short_list(const SpmmQuery& query);

/// Predicted microseconds, for ranking (sparse_tensor_wgmma_cost.cpp).
double predict_us(const SpmmQuery& query, const SparseTensorWgmmaConfig& config);

}  // namespace sparse_tensor_wgmma
}  // namespace vostok::ops
