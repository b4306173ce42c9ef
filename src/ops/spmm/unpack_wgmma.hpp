// unpack_wgmma on the host, in four parts: traits and launches (unpack_wgmma.cpp), rules, space, cost model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <abi/unpack_wgmma.h>

#include "ops/spmm/problem.hpp"
#include "ops/spmm/split_dense.hpp"
#include "ops/spmm/unpack_sum.hpp"
#include "ops/topology/packed_strips.hpp"

namespace vostok::ops {

std::unique_ptr<Family> make_unpack_wgmma();

namespace unpack_wgmma {

/// What the problem, and how a config cuts it, fix for the kernel.
UnpackWgmmaTraits traits(const SpmmQuery& query, const UnpackWgmmaConfig& config);
/// Only the traits that shared_bytes() reads; the others keep their defaults. Ranking needs no more.
UnpackWgmmaTraits stage_traits(const SpmmQuery& query, const UnpackWgmmaConfig& config);

/// The strips that a config reads.
StripKind strip_kind(const UnpackWgmmaConfig& config);

/// k blocks of 64 of a slice of k.
std::int64_t slice_blocks(const SpmmQuery& query, const UnpackWgmmaConfig& config);

/// Where a config's launches leave what they prepare: packed values, B's tiles and their scales, sums of slices.
struct WorkspaceLayout {
  SplitDense dense;
  SlicedProduct product;
  std::int64_t bytes = 0;
};
WorkspaceLayout workspace_layout(const SpmmQuery& query, const UnpackWgmmaConfig& config);

/// Why the family cannot serve the query at all; nothing where it can (unpack_wgmma_rules.cpp).
std::optional<std::string> declines(const SpmmQuery& query);

/// Why the kernel cannot run this config here; nothing where it can (unpack_wgmma_rules.cpp).
std::optional<std::string> forbidden(const SpmmQuery& query, const UnpackWgmmaConfig& config);
/// forbidden() in two steps, for searches. admits_tile() checks all but the k split, admits_slicing() the k split of an admitted tile.
bool admits_tile(const SpmmQuery& query, const UnpackWgmmaConfig& config);
bool admits_slicing(const SpmmQuery& query, const UnpackWgmmaConfig& config);

/// Of a few shapes the one that the cost model likes best (unpack_wgmma_space.cpp).
UnpackWgmmaConfig default_config(const SpmmQuery& query);
/// The config that asks for the least of the device.
UnpackWgmmaConfig smallest_config(const SpmmQuery& query);

/// The whole space, default first, without repeats; the rules decide what of it is admitted.
std::vector<UnpackWgmmaConfig> space(const SpmmQuery& query);

/// The default, and what the cost model likes of each shape.
std::vector<UnpackWgmmaConfig> short_list(const SpmmQuery& query);

/// Predicted microseconds, for ranking (unpack_wgmma_cost.cpp).
double predict_us(const SpmmQuery& query, const UnpackWgmmaConfig& config);

}  // namespace unpack_wgmma
}  // namespace vostok::ops
