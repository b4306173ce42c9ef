// unpack_wgmma on the host, in four parts: traits and launches (unpack_wgmma.cpp), rules, space, cost model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <abi/unpack_wgmma.h>

#include "ops/spmm/problem.hpp"
#include "ops/spmm/split_dense.hpp"
#include "ops/spmm/unpack_sum.hpp"
#include "ops/topology/packed_strips.hpp"

namespace vostok::ops::unpack_wgmma {

/// The kernel's traits, by the problem and how a config cuts it.
UnpackWgmmaTraits traits(const SpmmQuery& query, const UnpackWgmmaConfig& config);
/// Only the traits that shared_bytes() reads; the others keep their defaults. Ranking needs no more.
UnpackWgmmaTraits stage_traits(const SpmmQuery& query, const UnpackWgmmaConfig& config);

/// The strips that a config reads.
StripKind strip_kind(const SpmmQuery& query, const UnpackWgmmaConfig& config);

/// Blocks of 64 k in a slice of k.
std::int64_t slice_blocks(const SpmmQuery& query, const UnpackWgmmaConfig& config);

/// Layout of the workspace of a config's launches: packed values, B's tiles and their scales, sums of slices.
struct WorkspaceLayout {
  SplitDense dense;
  SlicedProduct product;
  std::int64_t bytes = 0;
};
WorkspaceLayout workspace_layout(const SpmmQuery& query, const UnpackWgmmaConfig& config);

/// Why the family cannot serve the query at all; nothing if it can (unpack_wgmma_rules.cpp).
std::optional<std::string> declines(const SpmmQuery& query);

/// Why the kernel cannot run this config here; nothing if it can (unpack_wgmma_rules.cpp).
std::optional<std::string> forbidden(const SpmmQuery& query, const UnpackWgmmaConfig& config);
/// forbidden() in two steps, for searches. admits_tile() checks all but the k split, admits_slicing() the k split of an
/// admitted tile.
bool admits_tile(const SpmmQuery& query, const UnpackWgmmaConfig& config);
bool admits_slicing(const SpmmQuery& query, const UnpackWgmmaConfig& config);

/// The cost model's best of a few shapes (unpack_wgmma_space.cpp).
UnpackWgmmaConfig default_config(const SpmmQuery& query);
/// The config with the smallest demands on the device.
UnpackWgmmaConfig smallest_config(const SpmmQuery& query);

/// The whole space, default first, without repeats, legal or not.
std::vector<UnpackWgmmaConfig> space(const SpmmQuery& query);

/// The default, and the cost model's best config of each shape.
std::vector<UnpackWgmmaConfig> short_list(const SpmmQuery& query);

/// Predicted microseconds, for ranking (unpack_wgmma_cost.cpp).
double predict_us(const SpmmQuery& query, const UnpackWgmmaConfig& config);

}  // namespace vostok::ops::unpack_wgmma
