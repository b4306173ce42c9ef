// Adds to the rules of the kernel (abi/sparse_tensor_mma.h) what only the problem or the device knows, and what cannot
// be fast.
#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/grid.hpp"
#include "ops/limits.hpp"
#include "ops/rules.hpp"
#include "ops/spmm/sparse_tensor_mma.hpp"
#include "ops/spmm/tile_rules.hpp"

namespace vostok::ops::sparse_tensor_mma {

namespace {

using Case = ops::Case<SpmmQuery, SparseTensorTraits, SparseTensorMmaConfig>;
using Rule = ops::Rule<Case>;

Case case_of(const SpmmQuery& query, const SparseTensorMmaConfig& config) {
  return {query, sparse_tensor::traits(query, config.k_split), config};
}

/// Lower bound on a thread's registers for sums and fragments; addresses and counters need some more.
int registers_needed(const SparseTensorMmaConfig& c) {
  const int fragments = 5 * c.warp_strips + (c.warp_columns >= 16 ? 16 : 8);
  const int strips = 3 * c.warp_strips;
  constexpr int addresses = 44;
  return lane_sums(c) + fragments + strips + addresses;
}

constexpr int most_registers = 240;

/// Ordered so that each may rely on those before it, and all on the kernel's.
constexpr std::array rules = {
    of_tiles::every_slice_has_blocks<Case>,
    of_tiles::grid_holds_tiles<Case>,
    of_tiles::grid_holds_slices<Case>,
    Rule{"the stages do not fit the device's shared memory",
         [](const Case& c) {
           return shared_bytes(c.traits, c.config) > most_shared_bytes(c.query.device, block_shared_bytes_of_sm_80);
         }},
    Rule{"sums and fragments do not fit a thread's registers",
         [](const Case& c) { return registers_needed(c.config) > most_registers; }},
    Rule{"a multiprocessor's shared memory, threads or registers are fewer than min_blocks blocks have",
         [](const Case& c) { return c.config.min_blocks > std::max(1, resident_blocks(c.query, c.config)); }},
    Rule{"a multiprocessor's registers are fewer than one block has",
         [](const Case& c) { return threads(c.config) * registers_needed(c.config) > multiprocessor_registers(); }},
    of_tiles::columns_are_filled<Case>,
    of_tiles::strips_are_filled<Case>,
    Rule{of_tiles::partial_bytes_reason,
         [](const Case& c) {
           return c.config.k_split > 1 &&
                  partial_sums_bytes(c.query, workspace(c.query, c.config).product) > of_tiles::most_partial_bytes;
         }},
};

}  // namespace

int resident_blocks(const SpmmQuery& query, const SparseTensorMmaConfig& config) {
  const int registers = std::min(registers_needed(config), most_registers);
  return multiprocessor_of(query.device, least_multiprocessor_of_sm_80)
      .resident_blocks(threads(config), registers, shared_bytes(sparse_tensor::traits(query, config.k_split), config));
}

std::optional<std::string> declines(const SpmmQuery& query) {
  if (auto reason = sparse_tensor::declines(query)) return reason;
  return nothing_admitted([&] { return smallest_config(query); }, [&] { return default_config(query); },
                          [&](const SparseTensorMmaConfig& config) { return forbidden(query, config); });
}

bool admits(const SpmmQuery& query, const SparseTensorMmaConfig& config) {
  return reason_against(case_of(query, config), rules) == nullptr;
}

std::optional<std::string> forbidden(const SpmmQuery& query, const SparseTensorMmaConfig& config) {
  return to_reason(reason_against(case_of(query, config), rules));
}

}  // namespace vostok::ops::sparse_tensor_mma
