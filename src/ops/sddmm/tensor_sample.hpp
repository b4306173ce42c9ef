// tensor_sample on the host, in four parts: traits and launches (tensor_sample.cpp), rules, space, cost model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <abi/tensor_sample.h>

#include "ops/sddmm/problem.hpp"

namespace vostok::ops {

std::unique_ptr<Family> make_tensor_sample();

namespace tensor_sample {

/// What the problem fixes for the kernel.
TensorSampleTraits traits(const SddmmQuery& query);

/// Steps of 16, and blocks of 64, that n has.
std::int64_t n_steps(const SddmmQuery& query);
std::int64_t n_blocks(const SddmmQuery& query);
/// n blocks that one of the config's n_split parts has at most.
std::int64_t part_blocks(const SddmmQuery& query, const TensorSampleConfig& config);

/// Bytes of the prepared operands, a multiple of 256.
std::int64_t prepared_bytes(const SddmmQuery& query, const TensorSampleConfig& config);

/// Tiles that hold nonzeros, were these spread evenly; and the entries of one of them.
double expected_tiles(const SddmmQuery& query, const TileShape& shape);
double expected_entries(const SddmmQuery& query, const TileShape& shape);

/// Why this family cannot serve the query at all (tensor_sample_rules.cpp).
std::optional<std::string> declines(const SddmmQuery& query);
/// Why the kernel cannot run this config here; nothing where it can.
std::optional<std::string> forbidden(const SddmmQuery& query, const TensorSampleConfig& config);

/// Small tiles, and n in as few parts as sums allow: admitted wherever any config is (tensor_sample_space.cpp).
TensorSampleConfig smallest_config(const SddmmQuery& query);

/// What the cost model likes best.
TensorSampleConfig default_config(const SddmmQuery& query);

/// The whole space, default first, without repeats; the rules decide what of it is admitted.
std::vector<TensorSampleConfig> space(const SddmmQuery& query);

/// Configs that cover the space's corners, default first.
std::vector<TensorSampleConfig> short_list(const SddmmQuery& query);

/// Predicted microseconds, for ranking (tensor_sample_cost.cpp).
double predict_us(const SddmmQuery& query, const TensorSampleConfig& config);

}  // namespace tensor_sample
}  // namespace vostok::ops
