// The rules of sparse_tensor_wgmma: each a reason and when it holds. They repeat the kernel's own static_asserts, add
// what only the problem or the device knows, and exclude what cannot be fast.
#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/grid.hpp"
#include "ops/shared_memory.hpp"
#include "ops/spmm/dense_map.hpp"
#include "ops/spmm/line_alignment.hpp"
#include "ops/spmm/sparse_tensor_wgmma.hpp"

namespace vostok::ops::sparse_tensor_wgmma {

namespace {

struct Case {
  const SpmmQuery& query;
  const SparseTensorWgmmaConfig& config;

  SparseTensorTraits traits() const { return sparse_tensor::traits(query, launched_slices(config)); }
  Slicing slicing() const { return {config.k_split, config.cluster_sums}; }
};

struct Rule {
  const char* reason;
  bool (*breaks)(const Case&);
};

bool is_power_of_two(int value, int least, int most) { return value >= least && value <= most && (value & (value - 1)) == 0; }

/// Registers available to a multiplying thread, and those for sums, two strips and addresses.
int register_limit(const SparseTensorWgmmaConfig& c) { return exchanges_registers(c) ? gained_registers(c) : launch_registers(c); }
int registers_needed(const SparseTensorWgmmaConfig& c) {
  constexpr int strips = 2 * (sparse_steps() * sparse_most_passes() * (sparse_registers() + 1) + 1);
  constexpr int addresses = 34;
  return c.tile_columns / 2 + strips + addresses;
}

/// Ordered so that each may rely on those before it. The first group repeats the kernel's own rules.
constexpr std::array rules = {
    Rule{"warpgroups is 1, 2 or 4", [](const Case& c) { return !is_power_of_two(c.config.warpgroups, 1, 4); }},
    Rule{"tile_columns is 64, 128 or 256", [](const Case& c) { return !is_power_of_two(c.config.tile_columns, 64, 256); }},
    Rule{"lines of B do not start and end at the 16 bytes of a copy", [](const Case& c) { return dense_alignment(c.query) < 16; }},
    Rule{lacks_certify_reason, [](const Case& c) { return certifies(c.query) && !c.config.certify; }},
    Rule{"stages is 2 to 8", [](const Case& c) { return c.config.stages < 2 || c.config.stages > 8; }},
    Rule{"strip_passes is 1 to 4",
         [](const Case& c) { return c.config.strip_passes < 1 || c.config.strip_passes > sparse_steps() * sparse_most_passes(); }},
    Rule{"four warps copy, or one where the copy engine does and warpgroups exchange no registers",
         [](const Case& c) {
           const bool one_does = c.config.producer_warps == 1 && c.config.tensor_copies && c.config.warpgroups == 1;
           return c.config.producer_warps != 4 && !one_does;
         }},
    Rule{lacks_tensor_maps_reason, [](const Case& c) { return c.config.tensor_copies && lacks_tensor_maps(c.query); }},
    Rule{past_tensor_maps_reason, [](const Case& c) { return c.config.tensor_copies && is_past_tensor_maps(c.query); }},
    Rule{"raster_rows, k_split and min_blocks are 1 or more",
         [](const Case& c) {
           return c.config.raster_rows < 1 || c.config.raster_rows > 65536 || c.config.k_split < 1 || c.config.k_split > 1024 ||
                  c.config.min_blocks < 1 || c.config.min_blocks > 16;
         }},
    Rule{"min_blocks blocks have more threads than a multiprocessor runs",
         [](const Case& c) { return (threads(c.config) + 127) / 128 * 128 * c.config.min_blocks > 2048; }},
    Rule{"sums and fragments do not fit the registers that min_blocks leaves",
         [](const Case& c) { return registers_needed(c.config) > register_limit(c.config); }},
    // ptxas refuses a multiplication whose operands do not fit those, however many a warpgroup takes over later (C7602).
    Rule{"a multiplication's operands do not fit the registers that threads are launched with",
         [](const Case& c) { return c.config.tile_columns / 2 + 24 >= launch_registers(c.config); }},
    Rule{"k has fewer blocks of 64 than k_split has slices",
         [](const Case& c) {
           return c.config.k_split > 1 &&
                  (c.config.k_split - 1) * sparse_tensor::slice_blocks(c.query, c.config.k_split) >= sparse_tensor::k_blocks(c.query);
         }},
    Rule{no_cluster_reason, [](const Case& c) { return is_no_cluster(c.slicing()); }},
    Rule{"the sums of a cluster's slices do not fit in the place of the stages",
         [](const Case& c) { return tile_parts(c.config).bytes() > ring_bytes(c.traits(), c.config); }},
    Rule{exceeds_clusters_reason, [](const Case& c) { return exceeds_clusters(c.slicing(), c.query.problem.batch); }},
    Rule{"the grid's x holds fewer tiles than there are",
         [](const Case& c) {
           return ceil_div(c.query.statistics.rows, tile_rows(c.config)) >
                  most_blocks_on_x / std::max<std::int64_t>(1, ceil_div(c.query.n.most, c.config.tile_columns));
         }},
    Rule{"the grid's y and z hold fewer slices than the batch has",
         [](const Case& c) { return c.query.problem.batch > most_blocks_on_y * most_blocks_on_y / c.config.k_split; }},
    Rule{"the stages do not fit the device's shared memory",
         [](const Case& c) {
           const std::int64_t bytes = shared_bytes(c.traits(), c.config);
           return bytes > most_shared_bytes(c.query, block_shared_bytes_of_sm_90) ||
                  c.config.min_blocks * (bytes + reserved_shared_bytes) > shared_bytes_of_hopper(c.query);
         }},
    Rule{"half of the tile's columns or more would lie past the last one",
         [](const Case& c) { return c.config.tile_columns > 64 && c.config.tile_columns >= 2 * c.query.n.most; }},
    Rule{"half of the tile's rows, of more than 64, would lie past the last one",
         [](const Case& c) { return c.config.warpgroups > 1 && tile_rows(c.config) >= 2 * c.query.statistics.rows; }},
    Rule{"the sums of slices would take more than 512 MiB",
         [](const Case& c) {
           return launched_slices(c.config) > 1 && partial_sums_bytes(c.query, workspace(c.query, c.config).product) > std::int64_t{512} << 20;
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

bool admits(const SpmmQuery& query, const SparseTensorWgmmaConfig& config) { return first_broken(rules, Case{query, config}) == rules.end(); }

std::optional<std::string> forbidden(const SpmmQuery& query, const SparseTensorWgmmaConfig& config) {
  return reason_against(rules, Case{query, config});
}

}  // namespace vostok::ops::sparse_tensor_wgmma
