// What the families of attention in one kernel share on the host: traits, arguments, slices and their launch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include <abi/dropout.h>
#include <abi/fused_attention.h>

#include "ops/attention/problem.hpp"
#include "ops/attention/terms.hpp"
#include "ops/grid.hpp"
#include "ops/launch.hpp"
#include "ops/rules.hpp"
#include "ops/topology/key_tiles.hpp"

namespace vostok::ops::fused_attention {

FusedAttentionTraits traits(const AttentionQuery& query);

/// Of keys and values, as kernels are compiled for them.
struct HeadSizes {
  int key;
  int value;
  bool whole;  ///< whether lines have no more elements than the problem's
};
HeadSizes head_sizes(const SparseAttention& attention);

/// Why no family computes this problem, or its gradients, without scores in memory; nothing if one may.
std::optional<std::string> declines(const SparseAttention& attention, const TopologyStatistics& mask);

/// The share of all pairs of a query and a key that see each other: of causal queries half of a square.
double seen_share(const SparseAttention& attention, const TopologyStatistics& mask);

/// Tiles of keys of a block of so many queries, by the mask's statistics: keys in runs are a band, others are spread
/// over all. `share`: of them, what the block's queries see.
double expected_tiles(const TopologyStatistics& mask, int block_queries, double share);

/// How a family cuts the problem.
struct Cut {
  int block_queries = 0;
  int parts = 1;  ///< of a block that skip each other's tiles
  int slices = 1;
  int stay = 0;          ///< blocks that each multiprocessor keeps, which take works in turn; 0: a block has one work
  int value_part = 0;    ///< elements of a part of a value's line, where f32 is split
  int column_parts = 1;  ///< blocks that share a work
};

/// How fast blocks are.
struct Pace {
  double resident = 1;       ///< blocks of an SM
  double tile_cycles = 0;    ///< in which an SM does nothing but one tile of one block
  double least_cycles = 0;   ///< from one tile of a block to the next
  double start_cycles = 0;   ///< of a block's work before its first tile and behind its last
  double shared_cycles = 0;  ///< in which an SM gathers a tile
  double copied_cycles = 0;  ///< in which a block does
  double tile_factor = 1;    ///< of whatever limits a tile
};

/// The cost model, for ranking only: the SMs' work, or what all blocks read from L2.
double predict_us(const AttentionQuery& query, const Cut& cut, const Pace& pace);

/// Products that tensor cores compute for one of an operand's: three of two terms.
constexpr int products_of_terms(const TraitsOfTerms auto& traits) { return traits.terms == 2 ? 3 : 1; }

/// How many times as long f32 takes as its products alone would; 1 of 16-bit elements.
struct TermFactors {
  double wgmma_scores = 1;  ///< to multiply scores by wgmma and exponentiate them: scales, and shorter steps
  double works = 1;         ///< for works of all families, whatever bounds them
};
TermFactors term_factors(const FusedAttentionTraits& traits);

/// Terms of f32, and partial sums of all slices where there is more than one.
std::int64_t workspace_bytes(const AttentionQuery& query, const Cut& cut);

/// The factors of capped scores, behind `scale`. A softcap of 0 is none.
void set_cap(FusedAttentionArgs& args, float softcap);

/// What a call of either pass says of dropped probabilities.
template <class Call>
void set_dropout(FusedAttentionArgs& args, const Call& call) {
  static_assert(sizeof(std::uint64_t) == sizeof(*args.dropout_state));
  args.dropout_state = reinterpret_cast<const unsigned long long*>(call.dropout_state);
  args.dropped_below = dropped_below(call.dropout);
  args.kept_scale = 1 / (1 - call.dropout);
}

/// Fills the kernels' arguments from a call's.
struct Binding {
  FusedAttentionArgs fixed;
  TermsPlaces terms;
  std::int64_t blocks;  ///< of one head, with slices
  std::int64_t stay;    ///< blocks of all heads that stay; 0: one for each work
  std::int64_t sums_bytes;
  bool joins = false;  ///< the launch that joins slices: a warp for each row

  device::Dim3 operator()(const AttentionArguments& call, FusedAttentionArgs& args) const;
};

Binding binding(const AttentionQuery& query, const Cut& cut, const TopologyPointers& topology);

/// The launch that joins slices.
Launch join_launch(const AttentionQuery& query, const Cut& cut, const TopologyPointers& topology);

template <class Config>
QueryBlocks blocks_of(const Config& config) {
  QueryBlocks blocks{.queries = block_queries(config)};
  if constexpr (requires { query_parts(config); }) blocks.parts = query_parts(config);
  return blocks;
}

// Rules of a family whose config has block_queries and slices.

template <class Case>
inline constexpr Rule<Case> mask_has_tiles{
    "the mask has no tiles of keys for blocks of so many queries",
    [](const Case& c) { return key_tiles_declined(c.query.statistics, blocks_of(c.config)).has_value(); }};
template <class Case>
inline constexpr Rule<Case> slices_have_tiles{
    "there are more slices than tiles of keys", [](const Case& c) {
      return c.config.slices > std::max<std::int64_t>(1, ceil_div(c.query.statistics.cols, tile_keys()));
    }};
template <class Case>
inline constexpr Rule<Case> grid_holds_blocks{
    "a grid has fewer blocks", [](const Case& c) {
      return query_blocks(c.query.statistics.rows, block_queries(c.config)) * c.config.slices > most_blocks_on_x ||
             c.query.attention().batch * c.query.statistics.rows > most_blocks_on_x;
    }};
template <class Case>
inline constexpr Rule<Case> queries_fill_blocks{"half of a block's queries would be missing", [](const Case& c) {
                                                  return block_queries(c.config) > strip_queries() &&
                                                         block_queries(c.config) >= 2 * c.query.statistics.rows;
                                                }};

}  // namespace vostok::ops::fused_attention
