// What the families of attention without scores in memory say alike: their lists of configs, and the launches of the
// forward pass.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "codegen/expression.hpp"
#include "ops/attention/fused.hpp"
#include "ops/config_list.hpp"

namespace vostok::ops::fused_attention {

/// Of either pass. Own has, beside a family's `name`: `reason(query, config)`, the broken rule or null; `predict_us`;
/// `for_each_config(visit)`, over the space; `smallest_config`; and `short_list_length`.
template <class Own, class OwnQuery, class OwnConfig>
struct ListedFamily {
  using Query = OwnQuery;
  using Config = OwnConfig;

  /// A family that takes no f32 hides this one.
  static std::optional<std::string> declines_element(Dtype) { return std::nullopt; }
  static std::optional<std::string> forbidden(const Query& query, const Config& config) {
    return to_reason(Own::reason(query, config));
  }
  static std::optional<std::string> declines(const Query& query) {
    if (auto reason = Own::declines_element(query.attention().element)) return reason;
    if (auto reason = fused_attention::declines(query.attention(), query.statistics)) return reason;
    return nothing_admitted([] { return Own::smallest_config; }, [&] { return default_config(query); },
                            [&](const Config& config) { return forbidden(query, config); });
  }
  /// Every admitted config of the space, best first.
  static std::vector<Config> admitted(const Query& query) {
    std::vector<Config> all;
    Own::for_each_config([&](const Config& config) { all.push_back(config); });
    return ranked(
        all, [&](const Config& config) { return Own::reason(query, config) == nullptr; },
        [&](const Config& config) { return Own::predict_us(query, config); });
  }
  static Config default_config(const Query& query) {
    const std::vector<Config> list = admitted(query);
    return list.empty() ? Own::smallest_config : list.front();
  }
  static std::vector<Config> space(const Query& query) {
    std::vector<Config> list = {default_config(query)};
    Own::for_each_config([&](const Config& config) { add_new(list, config); });
    return list;
  }
  static std::vector<Config> short_list(const Query& query) {
    std::vector<Config> list = admitted(query);
    list.resize(std::clamp<std::size_t>(list.size(), 1, Own::short_list_length), Own::smallest_config);
    return list;
  }
};

template <class Config>
Cut cut_of(const AttentionQuery& query, const Config& config) {
  const FusedAttentionTraits t = traits(query);
  const QueryBlocks blocks = blocks_of(config);
  Cut cut{.block_queries = blocks.queries,
          .parts = blocks.parts,
          .slices = config.slices,
          .value_part = value_part(t, config),
          .column_parts = column_parts(t, config)};
  if constexpr (requires { config.persistent; })
    if (config.persistent) cut.stay = config.min_blocks;
  return cut;
}

/// Of the forward pass. Own has `config_name`, its config's type, and `features` of its kernel (KernelRequest), too.
template <class Own, class OwnConfig>
struct ForwardFamily : ListedFamily<Own, AttentionQuery, OwnConfig> {
  static TopologyNeeds needs(const AttentionQuery& query, const OwnConfig& config) {
    const QueryBlocks blocks = blocks_of(config);
    return {.index = query.attention().index,
            .key_tile_queries = blocks.queries,
            .key_tile_parts = blocks.parts,
            .key_tile_starts = query.attention().biased};
  }
  static std::int64_t workspace_bytes(const AttentionQuery& query, const OwnConfig& config) {
    return fused_attention::workspace_bytes(query, cut_of(query, config));
  }
  static std::vector<Launch> launches(const AttentionQuery& query, const OwnConfig& config,
                                      const TopologyPointers& topology) {
    const Cut cut = cut_of(query, config);
    std::vector<Launch> list;
    if (terms_of(query.attention()) > 0) list.push_back(split_terms_launch(query, terms_places(query, cut.value_part)));
    list.push_back(attend_launch(query, config, topology));
    if (config.slices > 1) list.push_back(join_launch(query, cut, topology));
    return list;
  }

 private:
  static Launch attend_launch(const AttentionQuery& query, const OwnConfig& config, const TopologyPointers& topology) {
    const FusedAttentionTraits t = traits(query);
    const device::LaunchShape shape = {
        .grid = {}, .block = {static_cast<unsigned>(threads(config))}, .shared_bytes = shared_bytes(t, config)};
    return Launch::of<AttentionArguments, FusedAttentionArgs>(
        {.family = std::string(Own::name),
         .header = fmt::format("attention/{}.h", Own::name),
         .expression = codegen::name_expression(Own::name, "FusedAttentionTraits", t, Own::config_name, config),
         .features = Own::features},
        shape, binding(query, cut_of(query, config), topology));
  }
};

}  // namespace vostok::ops::fused_attention
