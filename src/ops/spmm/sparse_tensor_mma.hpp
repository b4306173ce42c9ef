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

/// Why the family cannot serve the query at all; nothing where it can (sparse_tensor_mma_rules.cpp).
std::optional<std::string> declines(const SpmmQuery& query);

/// Why the kernel cannot run this config here; nothing where it can (sparse_tensor_mma_rules.cpp).
std::optional<std::string> forbidden(const SpmmQuery& query, const SparseTensorMmaConfig& config);
/// Whether it can, without a text: spaces ask this of thousands.
bool admits(const SpmmQuery& query, const SparseTensorMmaConfig& config);

/// Blocks of this config that share a multiprocessor, by its memory, threads and an estimate of the registers.
int resident_blocks(const SpmmQuery& query, const SparseTensorMmaConfig& config);

/// What the cost model likes best (sparse_tensor_mma_space.cpp).
SparseTensorMmaConfig default_config(const SpmmQuery& query);
/// The config that asks for the least of the device.
SparseTensorMmaConfig smallest_config(const SpmmQuery& query);

/// The whole space, default first, without repeats; the rules decide what of it is admitted.
std::vector<SparseTensorMmaConfig> space(const SpmmQuery& query);

/// The configs that the cost model likes best, default first.
std::vector<SparseTensorMmaConfig> short_list(const SpmmQuery& query);

/// Predicted microseconds, for ranking (sparse_tensor_mma_cost.cpp).
double predict_us(const SpmmQuery& query, const SparseTensorMmaConfig& config);

}  // namespace sparse_tensor_mma
}  // namespace vostok::ops
