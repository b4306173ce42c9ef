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
    Rule{"k has fewer blocks of 64 than k_split has slices",
         [](const Case& c) {
           return c.config.k_split > 1 &&
                  (c.config.k_split - 1) * sparse_tensor::slice_blocks(c.query, c.config.k_split) >=
                      sparse_tensor::k_blocks(c.query);
         }},
    Rule{"the grid's x holds fewer tiles than there are",
         [](const Case& c) {
           return ceil_div(c.query.statistics.rows, tile_rows(c.config)) >
                  most_blocks_on_x / std::max<std::int64_t>(1, ceil_div(c.query.n.most, tile_columns(c.config)));
         }},
    Rule{"the grid's y and z hold fewer slices than the batch has",
         [](const Case& c) { return c.query.problem.batch > most_blocks_on_y * most_blocks_on_y / c.config.k_split; }},
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
    Rule{"half of the tile's columns or more would lie past the last one",
         [](const Case& c) { return tile_columns(c.config) > 8 && tile_columns(c.config) >= 2 * c.query.n.most; }},
    Rule{"half of the tile's strips, of more than two, would lie past the last row",
         [](const Case& c) {
           return tile_rows(c.config) > 2 * packed_strip_rows() && tile_rows(c.config) >= 2 * c.query.statistics.rows;
         }},
    Rule{"the sums of slices would take more than 512 MiB",
         [](const Case& c) {
           return c.config.k_split > 1 &&
                  partial_sums_bytes(c.query, workspace(c.query, c.config).product) > std::int64_t{512} << 20;
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
