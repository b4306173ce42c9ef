// staged_rows on the host, in four parts: traits and launches (staged_rows.cpp), rules, space, cost model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <abi/staged_rows.h>

#include "ops/spmm/csr_product.hpp"

namespace vostok::ops::staged_rows {

/// The kernel's traits, which the problem fixes.
StagedRowsTraits traits(const SpmmQuery& query);

/// Panels of the matrix, and of a slice.
std::int64_t panels(const SpmmQuery& query, const StagedRowsConfig& config);
std::int64_t slice_panels(const SpmmQuery& query, const StagedRowsConfig& config);

/// Tiles of rows, and groups of them that a block takes.
std::int64_t row_tiles(const SpmmQuery& query, const StagedRowsConfig& config);
std::int64_t row_groups(const SpmmQuery& query, const StagedRowsConfig& config);

/// Blocks of all slices that share a tile of columns.
std::int64_t row_blocks(const SpmmQuery& query, const StagedRowsConfig& config);

/// The config of the launch that adds slices.
StagedRowsSumConfig sum_config(const SpmmQuery& query, const StagedRowsConfig& config);

/// Resident blocks of this config on an SM, by shared memory and threads.
int resident_blocks(const SpmmQuery& query, const StagedRowsConfig& config);

/// Why the family cannot serve the query at all; nothing if it can (staged_rows_rules.cpp).
std::optional<std::string> declines(const SpmmQuery& query);

/// Why the kernels cannot run this config here; nothing if they can (staged_rows_rules.cpp).
std::optional<std::string> forbidden(const SpmmQuery& query, const StagedRowsConfig& config);

/// The cost model's best config of the short list (staged_rows_space.cpp).
StagedRowsConfig default_config(const SpmmQuery& query);

/// The whole space, default first, without repeats, legal or not.
std::vector<StagedRowsConfig> space(const SpmmQuery& query);

/// Whether several rows of a block multiply the same rows of B, and there is enough work to hide the cost of panels.
bool shares_panels(const SpmmQuery& query);

/// Configs that differ in what matters most, default first; only the default if panels are not shared.
std::vector<StagedRowsConfig> short_list(const SpmmQuery& query);

/// Predicted microseconds, for ranking (staged_rows_cost.cpp).
double predict_us(const SpmmQuery& query, const StagedRowsConfig& config);

}  // namespace vostok::ops::staged_rows
