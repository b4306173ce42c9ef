// tensor_sample on the host, in four parts: traits and launches (tensor_sample.cpp), rules, space, cost model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <abi/tensor_sample.h>

#include "ops/sddmm/problem.hpp"

namespace vostok::ops::tensor_sample {

/// Bytes of the prepared operands, a multiple of 256.
std::int64_t prepared_bytes(const SddmmQuery& query, const TensorSampleConfig& config);

/// Why this family cannot serve the query at all (tensor_sample_rules.cpp).
std::optional<std::string> declines(const SddmmQuery& query);
/// Why the kernel cannot run this config here; nothing if it can.
std::optional<std::string> forbidden(const SddmmQuery& query, const TensorSampleConfig& config);
/// As forbidden() without its text, for searches over thousands of configs.
bool admits(const SddmmQuery& query, const TensorSampleConfig& config);

/// Small tiles, and n in as few parts as accuracy allows: admitted if any config is (tensor_sample_space.cpp).
TensorSampleConfig smallest_config(const SddmmQuery& query);

/// The cost model's best config.
TensorSampleConfig default_config(const SddmmQuery& query);

/// The whole space, default first, without repeats, legal or not.
std::vector<TensorSampleConfig> space(const SddmmQuery& query);

/// Configs that cover the space's corners, default first.
std::vector<TensorSampleConfig> short_list(const SddmmQuery& query);

/// Predicted microseconds, for ranking (tensor_sample_cost.cpp).
double predict_us(const SddmmQuery& query, const TensorSampleConfig& config);

}  // namespace vostok::ops::tensor_sample
