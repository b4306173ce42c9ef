// staged_rows on the host, in four parts: traits and launches (staged_rows.cpp), rules, space, cost model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <abi/staged_rows.h>

#include "ops/spmm/csr_product.hpp"

namespace vostok::ops {

std::unique_ptr<Family> make_staged_rows();

namespace staged_rows {

/// What the problem fixes for the kernel.
StagedRowsTraits traits(const SpmmQuery& query);

/// Panels of the matrix, and of a slice.
std::int64_t panels(const SpmmQuery& query, const StagedRowsConfig& config);
std::int64_t slice_panels(const SpmmQuery& query, const StagedRowsConfig& config);

/// Blocks that share a tile of columns: those of all slices.
std::int64_t row_blocks(const SpmmQuery& query, const StagedRowsConfig& config);

/// The config of the launch that adds slices.
StagedRowsSumConfig sum_config(const SpmmQuery& query, const StagedRowsConfig& config);

/// Blocks of this config whose shared memory and threads a multiprocessor holds.
int resident_blocks(const SpmmQuery& query, const StagedRowsConfig& config);

/// Why the family cannot serve the query at all; nothing where it can (staged_rows_rules.cpp).
std::optional<std::string> declines(const SpmmQuery& query);

/// Why the kernels cannot run this config here; nothing where they can (staged_rows_rules.cpp).
std::optional<std::string> forbidden(const SpmmQuery& query, const StagedRowsConfig& config);

/// What the cost model likes best of the short list (staged_rows_space.cpp).
StagedRowsConfig default_config(const SpmmQuery& query);

/// The whole space, default first, without repeats; the rules decide what of it is admitted.
std::vector<StagedRowsConfig> space(const SpmmQuery& query);

/// Whether rows of B are multiplied by several rows of a block, and there are enough of everything to hide what panels cost.
bool shares_panels(const SpmmQuery& query);

/// Configs that differ in what matters most, default first; the default alone where panels are not shared.
std::vector<StagedRowsConfig> short_list(const SpmmQuery& query);

/// Predicted microseconds, for ranking (staged_rows_cost.cpp).
double predict_us(const SpmmQuery& query, const StagedRowsConfig& config);

}  // namespace staged_rows
}  // namespace vostok::ops
