// The rules of tensor_sample: each a reason and when it holds. They repeat the kernel's own static_asserts, add what
// only the problem or the device knows, and exclude what cannot be fast.
#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/grid.hpp"
#include "ops/sddmm/sample_launch.hpp"
#include "ops/sddmm/sum_parts.hpp"
#include "ops/sddmm/tensor_sample.hpp"
#include "ops/shared_memory.hpp"
#include "ops/topology/tile_lists.hpp"

namespace vostok::ops::tensor_sample {

namespace {

struct Case {
  const SddmmQuery& query;
  TensorSampleTraits traits;
  const TensorSampleConfig& config;
};

struct Rule {
  const char* reason;
  bool (*breaks)(const Case&);
};

constexpr int most_split = 1024;

bool is_power_of_two(int value, int least, int most) { return value >= least && value <= most && (value & (value - 1)) == 0; }

int shared_of_multiprocessor(const Case& c) { return c.query.device != nullptr ? c.query.device->shared_bytes_per_multiprocessor() : 100 * 1024; }
int threads_of_multiprocessor(const Case& c) { return c.query.device != nullptr ? c.query.device->threads_per_multiprocessor() : 1536; }

/// Registers of a thread that min_blocks allows.
int register_limit(const Case& c) { return std::min(255, 64 * 1024 / (threads(c.config) * c.config.min_blocks)) / 8 * 8; }

/// Registers for sums and fragments, as NVRTC 13.0 allocates them. A large tile needs separate registers for the next
/// sums while the last ones are still being added; products in two rounds keep more fragments.
int registers_needed(const Case& c) {
  const int terms = sample_terms(c.config.mode);
  const bool adds_within_blocks = promotes(c.traits, c.config) && c.config.promotion_steps < steps_of_block();
  const int sums = lane_sums(c.config) * (promotes(c.traits, c.config) ? 2 : 1);
  const int next_sums = adds_within_blocks && lane_sums(c.config) > 32 ? lane_sums(c.config) : 0;
  const int lhs = terms * 4 * (c.config.warp_rows / 16) * (c.config.kept_blocks == 1 ? steps_of_block() : 1);
  const int second_round = c.config.low_first ? lane_sums(c.config) / 2 : 0;
  const int addresses = terms == 2 ? 44 : 28;
  return sums + next_sums + lhs + second_round + 4 * terms + addresses;
}

bool serves(PackedMode mode, const Sddmm& problem) {
  if (problem.element == Dtype::f16) return mode == PackedMode::f16x1;
  if (problem.element == Dtype::bf16) return mode == PackedMode::bf16x1;
  return mode == PackedMode::f16x3 || (problem.math == Math::tf32 && (mode == PackedMode::bf16x3 || mode == PackedMode::f16x1));
}

/// Whether sums stay accurate. If all elements are alike, adding products with a low term to a sum of high ones loses
/// as much as adding high ones. A sum may then span two steps, or a whole block if the low products come first. 16-bit
/// elements have no low terms, so a sum may span a whole block.
bool keeps_sums_short(const Case& c) {
  if (c.query.problem.math == Math::tf32) return true;
  const bool whole_block = sample_terms(c.config.mode) == 1 || c.config.low_first;
  if (c.config.promotion_steps == 0) return whole_block && c.traits.one_block;
  return whole_block || c.config.promotion_steps <= 2;
}

/// Ordered so that each may rely on those before it. The first group repeats the kernel's own rules.
constexpr std::array rules = {
    Rule{"a block has 1 to 32 warps",
         [](const Case& c) {
           return c.config.row_warps < 1 || c.config.column_warps < 1 || c.config.row_warps > 32 || c.config.column_warps > 32 ||
                  threads(c.config) > 1024;
         }},
    Rule{"a warp has a multiple of 16 rows and of 16 columns, of each at most 128",
         [](const Case& c) {
           return c.config.warp_rows < 16 || c.config.warp_rows > 128 || c.config.warp_rows % 16 != 0 || c.config.warp_columns < 16 ||
                  c.config.warp_columns > 128 || c.config.warp_columns % 16 != 0;
         }},
    Rule{"a tile has a multiple of 32 rows, a power of two of columns from 32 to 512, and at most 2^16 elements",
         [](const Case& c) {
           return tile_rows(c.config) % 32 != 0 || !is_power_of_two(tile_columns(c.config), 32, 512) ||
                  tile_rows(c.config) * tile_columns(c.config) > 1 << 16;
         }},
    Rule{"mode is f16x1 or bf16x1 for 16-bit elements; for f32 f16x3, or bf16x3 or f16x1 under math = tf32",
         [](const Case& c) { return !serves(c.config.mode, c.query.problem); }},
    Rule{"stages is 2 to 8", [](const Case& c) { return c.config.stages < 2 || c.config.stages > 8; }},
    Rule{"promotion_steps is 0, 1, 2 or 4",
         [](const Case& c) { return c.config.promotion_steps != 0 && !is_power_of_two(c.config.promotion_steps, 1, 4); }},
    Rule{"low_first needs products with a low term, and sums of whole n blocks",
         [](const Case& c) {
           return c.config.low_first &&
                  (sample_terms(c.config.mode) != 2 || (c.config.promotion_steps != 0 && c.config.promotion_steps != steps_of_block()));
         }},
    Rule{"tiles_per_block is 1 to 65536", [](const Case& c) { return c.config.tiles_per_block < 1 || c.config.tiles_per_block > 65536; }},
    Rule{sampled::lacks_certify_reason, [](const Case& c) { return sampled::certifies(c.query) && !c.config.certify; }},
    Rule{"list_room is a multiple of 8 from 8 to the tile's elements",
         [](const Case& c) {
           return c.config.list_room < 8 || c.config.list_room % 8 != 0 || c.config.list_room > tile_rows(c.config) * tile_columns(c.config);
         }},
    Rule{"n_split is a power of two of at most 1024", [](const Case& c) { return !is_power_of_two(c.config.n_split, 1, most_split); }},
    Rule{"min_blocks is 1 to 32", [](const Case& c) { return c.config.min_blocks < 1 || c.config.min_blocks > 32; }},
    Rule{"kept_blocks is 0, or what n has, up to 8 blocks, where a block has several tiles and n is in one part",
         [](const Case& c) {
           return c.config.kept_blocks != 0 && (c.config.kept_blocks > 8 || c.config.kept_blocks != sampled::n_blocks(c.query) ||
                                                c.config.tiles_per_block == 1 || c.config.n_split > 1);
         }},
    Rule{"sums of more steps would lose more than math = accurate allows", [](const Case& c) { return !keeps_sums_short(c); }},
    Rule{"more sums of a part would round past what math = accurate allows",
         [](const Case& c) { return !sampled::adds_few_sums(c.query, c.config.promotion_steps, c.config.n_split); }},
    Rule{"n has fewer blocks of 64 than n_split has parts", [](const Case& c) { return sampled::has_empty_parts(c.query, c.config.n_split); }},
    Rule{"the grid's y and z hold fewer parts than the batch has",
         [](const Case& c) { return c.query.problem.batch > most_blocks_on_y * most_blocks_on_y / c.config.n_split; }},
    Rule{"stages, sums and lists do not fit the device's shared memory",
         [](const Case& c) {
           return shared_bytes(c.traits, c.config) > most_shared_bytes(c.query, block_shared_bytes_of_sm_80) ||
                  std::int64_t{c.config.min_blocks} * (shared_bytes(c.traits, c.config) + 1024) > shared_of_multiprocessor(c);
         }},
    Rule{"min_blocks blocks have more threads than a multiprocessor runs",
         [](const Case& c) { return threads(c.config) * c.config.min_blocks > threads_of_multiprocessor(c); }},
    Rule{"sums and fragments do not fit the registers that min_blocks leaves", [](const Case& c) { return registers_needed(c) > register_limit(c); }},
    Rule{"half of the tile's rows, of more than 32, would lie past the last one",
         [](const Case& c) { return tile_rows(c.config) > 32 && tile_rows(c.config) >= 2 * std::max<std::int64_t>(c.query.statistics.rows, 32); }},
    Rule{"half of the tile's columns, of more than 32, would lie past the last one",
         [](const Case& c) {
           return tile_columns(c.config) > 32 && tile_columns(c.config) >= 2 * std::max<std::int64_t>(c.query.statistics.cols, 32);
         }},
    Rule{"the mask has no lists of such tiles",
         [](const Case& c) { return tile_lists_declined(c.query.statistics, tile_shape(c.config)).has_value(); }},
    Rule{"the parts of sums would take more than 256 MiB",
         [](const Case& c) { return c.config.n_split > 1 && part_bytes(c.query, c.config.n_split) > std::int64_t{256} << 20; }},
};

}  // namespace

std::optional<std::string> declines(const SddmmQuery& query) {
  if (auto reason = sampled::declines(query)) return reason;
  if (auto reason = tile_lists_declined(query.statistics, tile_shape(smallest_config(query)))) return reason;
  if (auto reason = forbidden(query, smallest_config(query))) return "no tile serves the sizes: " + *reason;
  return std::nullopt;
}

bool admits(const SddmmQuery& query, const TensorSampleConfig& config) {
  return first_broken(rules, Case{query, sampled::traits(query), config}) == rules.end();
}

std::optional<std::string> forbidden(const SddmmQuery& query, const TensorSampleConfig& config) {
  return reason_against(rules, Case{query, sampled::traits(query), config});
}

}  // namespace vostok::ops::tensor_sample
