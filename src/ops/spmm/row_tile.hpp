// row_tile on the host, in four parts: traits and launches (row_tile.cpp), rules, space, cost model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <abi/row_tile.h>

#include "ops/spmm/problem.hpp"

namespace vostok::ops::row_tile {

/// The kernel's traits, which the problem fixes.
RowTileTraits traits(const SpmmQuery& query);

/// Rows that a launch walks: those of A, or the room for their slots.
std::int64_t walked_rows(const SpmmQuery& query, const RowTileConfig& config);

/// Why the kernel cannot run this config here; nothing if it can (row_tile_rules.cpp).
std::optional<std::string> forbidden(const SpmmQuery& query, const RowTileConfig& config);

/// The paper's heuristic: n tile = n rounded up to a power of two, at most 64; widest legal vectors
/// (row_tile_space.cpp).
RowTileConfig paper_config(const SpmmQuery& query);

/// The cost model's best of the paper's config and the short list's other shapes, with the likeliest preparation.
RowTileConfig default_config(const SpmmQuery& query);

/// The whole space, default first, without repeats, legal or not.
std::vector<RowTileConfig> space(const SpmmQuery& query);

/// Configs of which one is near the best on most problems that were measured
/// (bench/notes/row_tile.md#what-slots-and-pieces-gained); default first.
std::vector<RowTileConfig> short_list(const SpmmQuery& query);

/// Predicted microseconds, for ranking (row_tile_cost.cpp).
double predict_us(const SpmmQuery& query, const RowTileConfig& config);

}  // namespace vostok::ops::row_tile
