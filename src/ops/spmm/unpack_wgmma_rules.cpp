// The rules of unpack_wgmma: each a reason and when it holds. They repeat the kernel's own static_asserts, add what
// only the problem or the device knows, and exclude what cannot be fast.
#include <algorithm>
#include <array>
#include <limits>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/grid.hpp"
#include "ops/shared_memory.hpp"
#include "ops/spmm/dense_map.hpp"
#include "ops/spmm/line_alignment.hpp"
#include "ops/spmm/unpack_wgmma.hpp"
#include "ops/topology/packed_strips.hpp"

namespace vostok::ops::unpack_wgmma {

namespace {

struct Case {
  const SpmmQuery& query;
  const UnpackWgmmaConfig& config;

  UnpackWgmmaTraits traits() const { return stage_traits(query, config); }
  Slicing slicing() const { return {config.k_split, config.cluster_sums}; }
};

struct Rule {
  const char* reason;
  bool (*breaks)(const Case&);
};

bool is_power_of_two(int value, int least, int most) { return value >= least && value <= most && (value & (value - 1)) == 0; }

bool serves(PackedMode mode, const Spmm& problem) {
  if (problem.element == Dtype::f16) return mode == PackedMode::f16x1;
  if (problem.element == Dtype::bf16) return mode == PackedMode::bf16x1;
  return mode == PackedMode::f16x3 || (mode == PackedMode::bf16x3 && problem.math == Math::tf32);
}

/// Registers available to a multiplying thread, and those for sums, fragments and addresses.
int register_limit(const UnpackWgmmaConfig& config) { return exchanges_registers(config) ? gained_registers(config) : launch_registers(config); }
int registers_needed(const UnpackWgmmaConfig& config) {
  const int sums = config.tile_columns / 2 * (config.promotion_blocks > 0 ? 2 : 1);
  const int fragments = fragment_registers(config) * (config.overlap ? 2 : 1);
  // The fewer there are, the more are spent on what the compiler could not place otherwise.
  const int tight = register_limit(config) <= 64 ? 14 : 0;
  const int addresses = (config.overlap ? 24 : 15) + tight;
  return sums + fragments + addresses;
}

/// The rules independent of the k split. Ordered so that each may rely on those before it; the first group
/// repeats the kernel's own rules.
constexpr std::array tile_rules = {
    Rule{"warpgroups is 1, 2 or 4", [](const Case& c) { return !is_power_of_two(c.config.warpgroups, 1, 4); }},
    Rule{"k_groups is 1, 2 or 4, and all groups together have 4 warpgroups at most",
         [](const Case& c) {
           return !is_power_of_two(c.config.k_groups, 1, 4) || (c.config.k_groups > 1 && c.config.warpgroups * c.config.k_groups > 4);
         }},
    Rule{"tile_columns is a power of two from 8 to 256", [](const Case& c) { return !is_power_of_two(c.config.tile_columns, 8, 256); }},
    Rule{"mode is f16x1 or bf16x1 for 16-bit elements; for f32 f16x3, or bf16x3 under math = tf32",
         [](const Case& c) { return !serves(c.config.mode, c.query.problem); }},
    Rule{lacks_certify_reason, [](const Case& c) { return certifies(c.query) && !c.config.certify; }},
    Rule{"lines of B do not start and end at the 16 bytes of a copy: it takes prepare_dense",
         [](const Case& c) { return !c.config.prepare_dense && dense_alignment(c.query) < 16; }},
    Rule{"an f32 B is split by threads: tensor_copies takes 16-bit elements",
         [](const Case& c) { return c.config.tensor_copies && terms(c.config) == 2; }},
    Rule{"tensor_copies takes B from where it lies: prepare_dense is false",
         [](const Case& c) { return c.config.tensor_copies && c.config.prepare_dense; }},
    Rule{lacks_tensor_maps_reason, [](const Case& c) { return c.config.tensor_copies && lacks_tensor_maps(c.query); }},
    Rule{past_tensor_maps_reason, [](const Case& c) { return c.config.tensor_copies && is_past_tensor_maps(c.query); }},
    Rule{"boxes of a row-major B have 64 columns: tensor_copies takes as many in a tile, or all that there are",
         [](const Case& c) { return c.config.tensor_copies && is_narrower_than_boxes(c.query, c.config.tile_columns); }},
    Rule{"stages is 2 to 8", [](const Case& c) { return c.config.stages < 2 || c.config.stages > 8; }},
    Rule{"stages is a multiple of k_groups, and at least twice as many where they overlap",
         [](const Case& c) { return c.config.stages % c.config.k_groups != 0 || c.config.stages < c.config.k_groups * (c.config.overlap ? 2 : 1); }},
    Rule{"strip_pairs is a multiple of 4 from 16 to 512, to 256 where a pair is two of four columns",
         [](const Case& c) {
           return c.config.strip_pairs < 16 || c.config.strip_pairs > packed_most(c.config.grain) || c.config.strip_pairs % 4 != 0;
         }},
    Rule{"the mask has no packed strips of that grain",
         [](const Case& c) { return takes_fours(c.config) && packed_strips_declined(c.query.statistics, c.config.grain).has_value(); }},
    Rule{"promotion_blocks is 0 to 1024; where columns have scales 1, or 2 with one of k_groups and prepare_dense",
         [](const Case& c) {
           const int blocks = c.config.promotion_blocks;
           const bool shares_scales = blocks == 1 || (blocks == 2 && c.config.k_groups == 1 && c.config.prepare_dense);
           return blocks < 0 || blocks > 1024 || (packed_scales_rows(c.config.mode) && !shares_scales);
         }},
    Rule{"raster_rows and min_blocks are 1 or more",
         [](const Case& c) {
           return c.config.raster_rows < 1 || c.config.raster_rows > 65536 || c.config.min_blocks < 1 || c.config.min_blocks > 16;
         }},
    Rule{"producer_warps is 4 where warpgroups exchange registers, else 1 or 4; 4 or 8 where they split B",
         [](const Case& c) {
           const int warps = c.config.producer_warps;
           if (splits_dense(c.config)) return warps != 4 && warps != 8;
           return warps != 4 && (consumer_warps(c.config) > 4 || warps != 1);
         }},
    Rule{"an f32 B is split in tiles of 32 columns and more",
         [](const Case& c) { return splits_dense(c.config) && c.config.tile_columns < split_unit_columns(); }},
    Rule{"warps that split B in turns of several k blocks have stages of their own: a multiple of those",
         [](const Case& c) { return splits_dense(c.config) && c.config.stages % split_block_step(c.config) != 0; }},
    Rule{"min_blocks blocks have more threads than a multiprocessor runs",
         [](const Case& c) { return (threads(c.config) + 127) / 128 * 128 * c.config.min_blocks > 2048; }},
    Rule{"threads that split B have fewer registers than they take",
         [](const Case& c) { return splits_dense(c.config) && launch_registers(c.config) < splitting_registers(); }},
    Rule{"sums and fragments do not fit the registers that min_blocks leaves",
         [](const Case& c) { return registers_needed(c.config) > register_limit(c.config); }},
    // ptxas refuses a multiplication whose operands do not fit those, however many a warpgroup takes over later (C7602).
    Rule{"a multiplication's operands do not fit the registers that threads are launched with",
         [](const Case& c) { return c.config.tile_columns / 2 + 24 >= launch_registers(c.config); }},
    Rule{"the grid's x holds fewer tiles than there are",
         [](const Case& c) {
           return ceil_div(c.query.statistics.rows, tile_rows(c.config)) >
                  most_blocks_on_x / std::max<std::int64_t>(1, ceil_div(c.query.n.most, c.config.tile_columns));
         }},
    Rule{"B has more tiles than their kernel's grid holds",
         [](const Case& c) {
           return c.config.prepare_dense &&
                  split_dense_declined(c.query, {.mode = c.config.mode, .tile_columns = prepared_columns(c.config)}).has_value();
         }},
    Rule{"half of the tile's columns or more would lie past the last one",
         [](const Case& c) { return c.config.tile_columns > 8 && c.config.tile_columns >= 2 * c.query.n.most; }},
    Rule{"half of the tile's rows or more would lie past the last one",
         [](const Case& c) { return c.config.warpgroups > 1 && tile_rows(c.config) >= 2 * c.query.statistics.rows; }},
};

/// The rules for the k split of a tile that the others admit.
constexpr std::array slicing_rules = {
    Rule{"k_split is 1 or more", [](const Case& c) { return c.config.k_split < 1 || c.config.k_split > 1024; }},
    Rule{"k has fewer blocks of 64 than k_split has slices",
         [](const Case& c) {
           return c.config.k_split > 1 && (c.config.k_split - 1) * slice_blocks(c.query, c.config) >= packed_k_blocks(c.query.statistics.cols);
         }},
    Rule{no_cluster_reason, [](const Case& c) { return is_no_cluster(c.slicing()); }},
    Rule{exceeds_clusters_reason, [](const Case& c) { return exceeds_clusters(c.slicing(), c.query.problem.batch); }},
    Rule{"a slice of k has fewer blocks of 64 than there are k_groups",
         [](const Case& c) { return c.config.k_groups > 1 && slice_blocks(c.query, c.config) < c.config.k_groups; }},
    Rule{"the grid's y and z hold fewer slices than the batch has",
         [](const Case& c) { return c.query.problem.batch > most_blocks_on_y * most_blocks_on_y / c.config.k_split; }},
    Rule{"the stages do not fit the device's shared memory",
         [](const Case& c) {
           const std::int64_t bytes = shared_bytes(c.traits(), c.config);
           return bytes > most_shared_bytes(c.query, block_shared_bytes_of_sm_90) ||
                  c.config.min_blocks * (bytes + reserved_shared_bytes) > shared_bytes_of_hopper(c.query);
         }},
    Rule{"the sums of k_groups, or of a cluster's slices, do not fit in the place of the stages",
         [](const Case& c) { return tile_parts(c.config).bytes() > ring_bytes(c.traits(), c.config); }},
    Rule{"the sums of slices would take more than 512 MiB",
         [](const Case& c) {
           return launched_slices(c.config) > 1 && partial_sums_bytes(c.query, workspace_layout(c.query, c.config).product) > std::int64_t{512} << 20;
         }},
};

}  // namespace

std::optional<std::string> declines(const SpmmQuery& query) {
  constexpr std::int64_t most_accurate_k = 65536;
  const Spmm& problem = query.problem;
  const TopologyStatistics& s = query.statistics;
  if (s.nonzeros == 0) return "there are no nonzeros to unpack";
  if (problem.math == Math::strict) return "math = strict is f32 multiply-adds, and this family multiplies on tensor cores";
  if (problem.element == Dtype::f32 && problem.math == Math::accurate && s.cols > most_accurate_k)
    return "math = accurate allows tensor cores up to K = 65536";
  if (s.rows > std::numeric_limits<std::int32_t>::max() || s.cols > std::numeric_limits<std::int32_t>::max())
    return "row and column numbers have 32 bits";
  if (auto reason = packed_strips_declined(s)) return reason;
  return nothing_admitted([&] { return smallest_config(query); }, [&] { return default_config(query); },
                          [&](const UnpackWgmmaConfig& config) { return forbidden(query, config); });
}

bool admits_tile(const SpmmQuery& query, const UnpackWgmmaConfig& config) {
  return first_broken(tile_rules, Case{query, config}) == tile_rules.end();
}

bool admits_slicing(const SpmmQuery& query, const UnpackWgmmaConfig& config) {
  return first_broken(slicing_rules, Case{query, config}) == slicing_rules.end();
}

std::optional<std::string> forbidden(const SpmmQuery& query, const UnpackWgmmaConfig& config) {
  const Case c{query, config};
  if (auto reason = reason_against(tile_rules, c)) return reason;
  return reason_against(slicing_rules, c);
}

}  // namespace vostok::ops::unpack_wgmma
