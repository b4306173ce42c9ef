// sparse_tensor_wgmma on the host, in four parts: launches (sparse_tensor_wgmma.cpp), rules, space, cost model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <abi/sparse_tensor_wgmma.h>

#include "ops/spmm/problem.hpp"
#include "ops/spmm/sparse_tensor.hpp"

namespace vostok::ops {

std::unique_ptr<Family> make_sparse_tensor_wgmma();

namespace sparse_tensor_wgmma {

sparse_tensor::Workspace workspace(const SpmmQuery& query, const SparseTensorWgmmaConfig& config);

/// Why the family cannot serve the query at all; nothing where it can (sparse_tensor_wgmma_rules.cpp).
std::optional<std::string> declines(const SpmmQuery& query);

/// Why the kernel cannot run this config here; nothing where it can (sparse_tensor_wgmma_rules.cpp).
std::optional<std::string> forbidden(const SpmmQuery& query, const SparseTensorWgmmaConfig& config);
/// Whether it can, without a text: spaces ask this of thousands.
bool admits(const SpmmQuery& query, const SparseTensorWgmmaConfig& config);

/// What the cost model likes best (sparse_tensor_wgmma_space.cpp).
SparseTensorWgmmaConfig default_config(const SpmmQuery& query);
/// The config that asks for the least of the device.
SparseTensorWgmmaConfig smallest_config(const SpmmQuery& query);

/// The whole space, default first, without repeats; the rules decide what of it is admitted.
std::vector<SparseTensorWgmmaConfig> space(const SpmmQuery& query);

/// The configs that the cost model likes best, default first.
std::vector<SparseTensorWgmmaConfig> short_list(const SpmmQuery& query);

/// Predicted microseconds, for ranking (sparse_tensor_wgmma_cost.cpp).
double predict_us(const SpmmQuery& query, const SparseTensorWgmmaConfig& config);

}  // namespace sparse_tensor_wgmma
}  // namespace vostok::ops
