// wgmma_sample on the host, in four parts: launches (wgmma_sample.cpp), rules, space, cost model. What it shares with
// tensor_sample is in sample_launch.hpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <abi/wgmma_sample.h>

#include "ops/sddmm/problem.hpp"

namespace vostok::ops::wgmma_sample {

/// The kernel's traits: layouts too, where operands are copied from where they lie.
TensorSampleTraits traits(const SddmmQuery& query, const WgmmaSampleConfig& config, int n_split = 1);

/// Whether both operands' lines start where a tensor map's can, at multiples of 16 bytes; and whether neither is larger
/// than a map can say (wgmma_sample_rules.cpp).
bool is_aligned_for_maps(const SddmmQuery& query);
bool is_within_maps(const SddmmQuery& query);
/// Whether operands may be copied from where they lie; and f32 ones, which blocks then split.
bool takes_tensor_maps(const SddmmQuery& query);
bool splits_in_place(const SddmmQuery& query);

/// Blocks on the grid's x that fill the device `waves` times; 0 if each tile has its own block.
std::int64_t most_shares(const SddmmQuery& query, const WgmmaSampleConfig& config);

/// Why this family cannot serve the query at all (wgmma_sample_rules.cpp).
std::optional<std::string> declines(const SddmmQuery& query);
/// Why the kernel cannot run this config here; nothing if it can.
std::optional<std::string> forbidden(const SddmmQuery& query, const WgmmaSampleConfig& config);
/// As forbidden() without its text, for searches over thousands of configs.
bool admits(const SddmmQuery& query, const WgmmaSampleConfig& config);

/// Small tiles, and n in as few parts as accuracy allows: admitted if any config is (wgmma_sample_space.cpp).
WgmmaSampleConfig smallest_config(const SddmmQuery& query);

/// The cost model's best config.
WgmmaSampleConfig default_config(const SddmmQuery& query);

/// The whole space, default first, without repeats, legal or not.
std::vector<WgmmaSampleConfig> space(const SddmmQuery& query);

/// Configs that cover the space's corners, default first.
std::vector<WgmmaSampleConfig> short_list(const SddmmQuery& query);

/// Predicted microseconds, for ranking (wgmma_sample_cost.cpp).
double predict_us(const SddmmQuery& query, const WgmmaSampleConfig& config);

}  // namespace vostok::ops::wgmma_sample
