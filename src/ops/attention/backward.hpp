// What the families of attention's gradients share on the host: traits, arguments and the three launches.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <abi/fused_backward.h>

#include "ops/attention/fused_family.hpp"
#include "ops/limits.hpp"

namespace vostok::ops::attention_backward {

FusedBackwardTraits traits(const AttentionBackwardQuery& query, BackwardPart part);

/// Whether the forward pass leaves what else a walk over all keys makes first.
inline bool has_row_statistics(const AttentionBackwardQuery& query) {
  return query.attention().saved == Saved::row_statistics;
}

/// The transposed mask's, as far as they are known: any column may be full.
TopologyStatistics transposed(TopologyStatistics mask);

/// Tiles that blocks of so many own lines walk, of all heads: by the mask, and by the transposed one.
struct WalkedTiles {
  double by_query;
  double by_key;
};
WalkedTiles walked_tiles(const AttentionBackwardQuery& query, int block_lines);

/// Two numbers for each query, and terms of f32.
std::int64_t workspace_bytes(const AttentionBackwardQuery& query);

/// Terms of f32, behind the two numbers of each query.
fused_attention::TermsPlaces terms_places(const AttentionBackwardQuery& query);

/// Fills a kernel's arguments from a call's.
struct Binding {
  FusedBackwardArgs fixed;
  fused_attention::TermsPlaces terms;
  std::int64_t blocks;
  BackwardPart part;
  bool of_saved = false;  ///< the launch that makes numbers of what the forward pass left: a warp for each query

  device::Dim3 operator()(const AttentionBackwardArguments& call, FusedBackwardArgs& args) const;
};

/// Of blocks of so many own lines, `parts` of which share them.
Binding binding(const AttentionBackwardQuery& query, int block_lines, BackwardPart part,
                const TopologyPointers& topology, int parts = 1);

/// Makes the two numbers of each query where the forward pass left row statistics.
Launch saved_rows_launch(const AttentionBackwardQuery& query, const TopologyPointers& topology);

// Rules of a family whose config has block_queries, and of one that has min_blocks.

/// `Most`: bytes of a block of the first architecture that runs the family.
template <class Case, int Most>
inline constexpr Rule<Case> lines_fit{
    "own lines and stages do not fit a block's shared memory",
    [](const Case& c) { return shared_bytes(c.traits, c.config) > most_shared_bytes(c.query.device, Most); }};

/// `Least`: the multiprocessor of that architecture.
template <class Case, const Multiprocessor& Least>
inline constexpr Rule<Case> blocks_fit{
    "a multiprocessor's shared memory or threads are fewer than min_blocks blocks have", [](const Case& c) {
      const Multiprocessor sm = multiprocessor_of(c.query.device, Least);
      return c.config.min_blocks >
             std::max(1, sm.resident_blocks(threads(c.config), 32, shared_bytes(c.traits, c.config)));
    }};

template <class Case>
inline constexpr Rule<Case> masks_have_tiles{
    "the mask has no tiles for blocks of so many lines", [](const Case& c) {
      const QueryBlocks blocks{.queries = block_queries(c.config)};
      return key_tiles_declined(c.query.statistics, blocks).has_value() ||
             key_tiles_declined(transposed(c.query.statistics), blocks).has_value();
    }};

/// Own has `config_name`, its config's type, and `features` of its kernels (KernelRequest), beside what ListedFamily
/// asks for.
template <class Own, class OwnConfig>
struct BackwardFamily : fused_attention::ListedFamily<Own, AttentionBackwardQuery, OwnConfig> {
  using Query = AttentionBackwardQuery;

  static TopologyNeeds needs(const Query& query, const OwnConfig& config) {
    return {.index = traits(query, BackwardPart::rows).index,
            .key_tile_queries = block_queries(config),
            .transposed_key_tiles = true,
            .key_tile_starts = query.attention().biased};
  }
  static std::int64_t workspace_bytes(const Query& query, const OwnConfig&) {
    return attention_backward::workspace_bytes(query);
  }
  static std::vector<Launch> launches(const Query& query, const OwnConfig& config, const TopologyPointers& topology) {
    std::vector<Launch> list;
    if (fused_attention::terms_of(query.attention()) > 0)
      list.push_back(fused_attention::split_terms_launch(query, terms_places(query)));
    list.push_back(has_row_statistics(query) ? saved_rows_launch(query, topology)
                                             : launch(query, config, BackwardPart::rows, topology));
    list.push_back(launch(query, config, BackwardPart::by_query, topology));
    list.push_back(launch(query, config, BackwardPart::by_key, topology));
    return list;
  }

 private:
  static Launch launch(const Query& query, const OwnConfig& config, BackwardPart part,
                       const TopologyPointers& topology) {
    const FusedBackwardTraits t = traits(query, part);
    return Launch::of<AttentionBackwardArguments, FusedBackwardArgs>(
        {.family = std::string(Own::name),
         .header = fmt::format("attention/{}.h", Own::name),
         .expression = codegen::name_expression(Own::name, "FusedBackwardTraits", t, Own::config_name, config),
         .features = Own::features},
        {.grid = {}, .block = {static_cast<unsigned>(threads(config))}, .shared_bytes = shared_bytes(t, config)},
        binding(query, block_queries(config), part, topology, column_parts(t, config)));
  }
};

}  // namespace vostok::ops::attention_backward
