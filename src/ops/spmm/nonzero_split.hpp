// nonzero_split on the host, in four parts: traits and launches (nonzero_split.cpp), rules, space, cost model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <abi/nonzero_split.h>

#include "ops/spmm/csr_product.hpp"

namespace vostok::ops {

std::unique_ptr<Family> make_nonzero_split();

namespace nonzero_split {

/// What the problem fixes for the kernel.
inline NonzeroSplitTraits traits(const SpmmQuery& query) { return csr_product::traits(query); }

/// Blocks that take all chunks of one product.
std::int64_t block_count(const SpmmQuery& query, const NonzeroSplitConfig& config);

/// Whether some row is cut into pieces, and whether pieces of one row lie in several blocks.
bool cuts_rows(const SpmmQuery& query, const NonzeroSplitConfig& config);
bool splits_rows(const SpmmQuery& query, const NonzeroSplitConfig& config);

/// The config of the launch that adds what several blocks have of a row.
SplitRowsConfig split_rows_config(const NonzeroSplitConfig& config);

/// Whether a family that gives whole rows to blocks or warps leaves much of a device idle: rows differ much in length, or are few.
bool defeats_rows(const SpmmQuery& query);

/// Whether a thread's registers hold the loads in flight beside everything else; the config's other fields must be legal.
bool fits_registers(const SpmmQuery& query, const NonzeroSplitConfig& config);

/// Why the kernels cannot run this config here; nothing where they can (nonzero_split_rules.cpp).
std::optional<std::string> forbidden(const SpmmQuery& query, const NonzeroSplitConfig& config);

/// Widest legal vectors, a warp's width of columns, and chunks that fill the device twice (nonzero_split_space.cpp).
NonzeroSplitConfig default_config(const SpmmQuery& query);

/// The whole space, default first, without repeats; the rules decide what of it is admitted.
std::vector<NonzeroSplitConfig> space(const SpmmQuery& query);

/// A few configs that differ in what matters most, default first; the default alone where rows are many and even.
std::vector<NonzeroSplitConfig> short_list(const SpmmQuery& query);

/// Predicted microseconds, for ranking (nonzero_split_cost.cpp).
double predict_us(const SpmmQuery& query, const NonzeroSplitConfig& config);

}  // namespace nonzero_split
}  // namespace vostok::ops
