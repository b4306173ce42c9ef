// Adds to the rules of the kernel (abi/sparse_tensor_wgmma.h) what only the problem or the device knows, and what
// cannot be fast.
#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/grid.hpp"
#include "ops/limits.hpp"
#include "ops/rules.hpp"
#include "ops/spmm/dense_map.hpp"
#include "ops/spmm/line_alignment.hpp"
#include "ops/spmm/sparse_tensor_wgmma.hpp"
#include "ops/spmm/tile_rules.hpp"

namespace vostok::ops::sparse_tensor_wgmma {

namespace {

using Case = ops::Case<SpmmQuery, SparseTensorTraits, SparseTensorWgmmaConfig>;
using Rule = ops::Rule<Case>;

Case case_of(const SpmmQuery& query, const SparseTensorWgmmaConfig& config) {
  return {query, sparse_tensor::traits(query, launched_slices(config)), config};
}

/// Registers available to a multiplying thread, and those for sums, two strips and addresses.
int register_limit(const SparseTensorWgmmaConfig& c) {
  return exchanges_registers(c) ? gained_registers(c) : launch_registers(c);
}
int registers_needed(const SparseTensorWgmmaConfig& c) {
  constexpr int strips = 2 * (sparse_steps() * sparse_most_passes() * (sparse_registers() + 1) + 1);
  constexpr int addresses = 34;
  return c.tile_columns / 2 + strips + addresses;
}

/// Ordered so that each may rely on those before it, and all on the kernel's.
constexpr std::array rules = {
    Rule{lacks_tensor_maps_reason, [](const Case& c) { return c.config.tensor_copies && lacks_tensor_maps(c.query); }},
    Rule{past_tensor_maps_reason, [](const Case& c) { return c.config.tensor_copies && is_past_tensor_maps(c.query); }},
    Rule{"min_blocks blocks have more threads than a multiprocessor runs",
         [](const Case& c) {
           return (threads(c.config) + 127) / 128 * 128 * c.config.min_blocks > multiprocessor_of_sm_90.threads;
         }},
    Rule{"sums and fragments do not fit the registers that min_blocks leaves",
         [](const Case& c) { return registers_needed(c.config) > register_limit(c.config); }},
    // ptxas refuses a multiplication whose operands do not fit those, however many a warpgroup takes over later
    // (C7602).
    Rule{"a multiplication's operands do not fit the registers that threads are launched with",
         [](const Case& c) { return c.config.tile_columns / 2 + 24 >= launch_registers(c.config); }},
    of_tiles::every_slice_has_blocks<Case>,
    Rule{exceeds_clusters_reason,
         [](const Case& c) {
           return exceeds_clusters({c.config.k_split, c.config.cluster_sums}, c.query.problem.batch);
         }},
    of_tiles::grid_holds_tiles<Case>,
    of_tiles::grid_holds_slices<Case>,
    Rule{"the stages do not fit the device's shared memory",
         [](const Case& c) {
           const std::int64_t bytes = shared_bytes(c.traits, c.config);
           return bytes > most_shared_bytes(c.query.device, block_shared_bytes_of_sm_90) ||
                  c.config.min_blocks * (bytes + reserved_shared_bytes) >
                      multiprocessor_of(c.query.device, multiprocessor_of_sm_90).shared_bytes;
         }},
    of_tiles::columns_are_filled<Case, 64>,
    Rule{"half of the tile's rows, of more than 64, would lie past the last one",
         [](const Case& c) { return c.config.warpgroups > 1 && tile_rows(c.config) >= 2 * c.query.statistics.rows; }},
    Rule{of_tiles::partial_bytes_reason,
         [](const Case& c) {
           return launched_slices(c.config) > 1 &&
                  partial_sums_bytes(c.query, workspace(c.query, c.config).product) > of_tiles::most_partial_bytes;
         }},
};

}  // namespace

std::optional<std::string> declines(const SpmmQuery& query) {
  constexpr std::int64_t least_n = 33;
  if (auto reason = sparse_tensor::declines(query)) return reason;
  if (query.n.most < least_n) return "n is 32 or less: a warpgroup's least tile of 64 columns would be half empty";
  return nothing_admitted([&] { return smallest_config(query); }, [&] { return default_config(query); },
                          [&](const SparseTensorWgmmaConfig& config) { return forbidden(query, config); });
}

bool admits(const SpmmQuery& query, const SparseTensorWgmmaConfig& config) {
  return reason_against(case_of(query, config), rules) == nullptr;
}

std::optional<std::string> forbidden(const SpmmQuery& query, const SparseTensorWgmmaConfig& config) {
  return to_reason(reason_against(case_of(query, config), rules));
}

}  // namespace vostok::ops::sparse_tensor_wgmma
