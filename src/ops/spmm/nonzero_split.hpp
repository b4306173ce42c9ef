// nonzero_split on the host, in four parts: traits and launches (nonzero_split.cpp), rules, space, cost model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <abi/nonzero_split.h>

#include "ops/spmm/csr_product.hpp"

namespace vostok::ops::nonzero_split {

/// The kernel's traits, which the problem fixes.
inline NonzeroSplitTraits traits(const SpmmQuery& query) { return csr_product::traits(query); }

/// Blocks for all chunks of one product.
std::int64_t block_count(const SpmmQuery& query, const NonzeroSplitConfig& config);

/// Whether some row is cut into pieces, and whether pieces of one row lie in several blocks.
bool cuts_rows(const SpmmQuery& query, const NonzeroSplitConfig& config);
bool splits_rows(const SpmmQuery& query, const NonzeroSplitConfig& config);

/// The config of the launch that adds the pieces of rows that several blocks share.
SplitRowsConfig split_rows_config(const NonzeroSplitConfig& config);

/// Whether a family that gives whole rows to blocks or warps leaves much of a device idle: row lengths
/// differ much, or rows are few.
bool defeats_rows(const SpmmQuery& query);

/// Whether a thread's registers hold the loads in flight besides everything else; the config's other fields must be
/// legal.
bool fits_registers(const SpmmQuery& query, const NonzeroSplitConfig& config);

/// Why the kernels cannot run this config here; nothing if they can (nonzero_split_rules.cpp).
std::optional<std::string> forbidden(const SpmmQuery& query, const NonzeroSplitConfig& config);

/// Widest legal vectors, a warp's width of columns, and chunks that fill the device twice (nonzero_split_space.cpp).
NonzeroSplitConfig default_config(const SpmmQuery& query);

/// The whole space, default first, without repeats, legal or not.
std::vector<NonzeroSplitConfig> space(const SpmmQuery& query);

/// A few configs that differ in what matters most, default first; only the default if rows are many and even.
std::vector<NonzeroSplitConfig> short_list(const SpmmQuery& query);

/// Predicted microseconds, for ranking (nonzero_split_cost.cpp).
double predict_us(const SpmmQuery& query, const NonzeroSplitConfig& config);

}  // namespace vostok::ops::nonzero_split
