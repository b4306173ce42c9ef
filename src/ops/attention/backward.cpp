#include "ops/attention/backward.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace vostok::ops::attention_backward {

namespace {

static_assert(codegen::lists_every_field<FusedBackwardTraits>(), "fields(FusedBackwardTraits) must name every member");

struct Lines {
  std::int64_t leading;
  std::int64_t stride;
};

}  // namespace

FusedBackwardTraits traits(const AttentionBackwardQuery& query, BackwardPart part) {
  const SparseAttention& attention = query.attention();
  const fused_attention::HeadSizes sizes = fused_attention::head_sizes(attention);
  const bool narrow = std::max(query.statistics.rows, query.statistics.cols) <= 65536;
  return {.part = part,
          .element = attention.element,
          .key_size = sizes.key,
          .value_size = sizes.value,
          .whole = sizes.whole,
          .index = narrow ? IndexType::u16 : IndexType::i32,
          .grouped = group_of(attention) > 1,
          .capped = attention.capped,
          .causal = attention.causal,
          .biased = attention.biased,
          .dropped = attention.dropped,
          .terms = fused_attention::terms_of(attention)};
}

TopologyStatistics transposed(TopologyStatistics mask) {
  std::swap(mask.rows, mask.cols);
  mask.longest_row = mask.cols;
  mask.mean_row = mask.rows > 0 ? static_cast<double>(mask.nonzeros) / static_cast<double>(mask.rows) : 0;
  return mask;
}

WalkedTiles walked_tiles(const AttentionBackwardQuery& query, int block_lines) {
  const double share = fused_attention::seen_share(query.attention(), query.statistics);
  const auto tiles = [&](const TopologyStatistics& mask) {
    return static_cast<double>(query_blocks(mask.rows, block_lines) * query.attention().batch) *
           fused_attention::expected_tiles(mask, block_lines, share);
  };
  return {.by_query = tiles(query.statistics), .by_key = tiles(transposed(query.statistics))};
}

fused_attention::TermsPlaces terms_places(const AttentionBackwardQuery& query) {
  const std::int64_t queries = checked_multiply(query.attention().batch, query.statistics.rows, "queries of all heads");
  return fused_attention::terms_places(query, checked_multiply(queries, 2 * sizeof(float), "numbers of all queries"));
}

std::int64_t workspace_bytes(const AttentionBackwardQuery& query) { return terms_places(query).bytes; }

device::Dim3 Binding::operator()(const AttentionBackwardArguments& call, FusedBackwardArgs& args) const {
  args = fixed;
  args.walk.scale = attention_scale(fixed.walk.key_size, call.scale);
  fused_attention::set_cap(args.walk, call.softcap);
  fused_attention::set_dropout(args.walk, call);
  args.statistics = static_cast<float*>(call.workspace);
  args.output = call.output;
  args.logarithms = static_cast<const float*>(call.saved);
  const bool by_key = part == BackwardPart::by_key;
  args.walk.query = by_key ? call.key : call.query;
  args.walk.key = by_key ? call.query : call.key;
  args.walk.value = by_key ? call.output_gradient : call.value;
  args.walk.bias = call.bias;
  args.bias_gradient = call.bias_gradient;
  args.own_values = by_key ? call.value : call.output_gradient;
  args.key_gradient = by_key ? call.key_gradient : call.query_gradient;
  args.value_gradient = call.value_gradient;
  const AttentionTerms lines = terms.at(call.workspace);
  const TermLines output_gradient = terms.output_gradient_at(call.workspace);
  args.walk.terms = by_key ? AttentionTerms{.query = lines.key, .key = lines.query, .value = output_gradient} : lines;
  args.own_value_terms = by_key ? lines.value : output_gradient;
  if (of_saved) return {static_cast<unsigned>(blocks)};
  return grid_of(blocks, fixed.walk.heads);
}

Binding binding(const AttentionBackwardQuery& query, int block_lines, BackwardPart part,
                const TopologyPointers& topology, int parts) {
  const SparseAttention& attention = query.attention();
  const bool by_key = part == BackwardPart::by_key;
  const Lines queries{attention.query_leading, attention.query_stride},
      keys{attention.key_leading, attention.key_stride}, values{attention.value_leading, attention.value_stride},
      outputs{attention.output_leading, attention.output_stride};
  const Lines own = by_key ? keys : queries, own_values = by_key ? values : outputs;
  const Lines other = by_key ? queries : keys, other_values = by_key ? outputs : values;
  Binding made{.fixed = {}, .terms = terms_places(query), .blocks = 0, .part = part};
  FusedAttentionArgs& walk = made.fixed.walk;
  walk.query_leading = own.leading;
  walk.query_stride = own.stride;
  walk.key_leading = other.leading;
  walk.key_stride = other.stride;
  walk.value_leading = other_values.leading;
  walk.value_stride = other_values.stride;
  walk.bias_stride = attention.bias_stride;
  walk.places = by_key ? topology.value_positions : nullptr;
  walk.heads = by_key ? key_heads_of(attention) : attention.batch;
  walk.group = static_cast<int>(group_of(attention));
  walk.key_offset = query.statistics.cols - query.statistics.rows;
  walk.rows = by_key ? query.statistics.cols : query.statistics.rows;
  walk.keys = by_key ? query.statistics.rows : query.statistics.cols;
  walk.key_size = static_cast<int>(attention.n);
  walk.value_size = static_cast<int>(attention.value_size);
  walk.tiles = by_key ? topology.transposed.key_tiles : topology.key_tiles;
  walk.row_offsets = static_cast<const int*>(by_key ? topology.transposed.row_offsets : topology.row_offsets);
  walk.column_indices = by_key ? topology.transposed.column_indices : topology.column_indices;
  made.fixed.own_values_leading = own_values.leading;
  made.fixed.own_values_stride = own_values.stride;
  made.fixed.queries = query.statistics.rows;
  made.fixed.elements = query.statistics.nonzeros;
  made.blocks = query_blocks(walk.rows, block_lines) * parts;
  return made;
}

Launch saved_rows_launch(const AttentionBackwardQuery& query, const TopologyPointers& topology) {
  constexpr SavedRowsConfig config;
  Binding rows = binding(query, 1, BackwardPart::rows, topology);
  rows.of_saved = true;
  rows.blocks = ceil_div(checked_multiply(rows.fixed.walk.heads, rows.fixed.queries, "queries of all heads"),
                         std::int64_t{config.warps});
  const FusedBackwardTraits t = traits(query, BackwardPart::rows);
  return Launch::of<AttentionBackwardArguments, FusedBackwardArgs>(
      {.family = "saved_rows",
       .header = "attention/saved_rows.h",
       .expression = codegen::name_expression("saved_rows", "FusedBackwardTraits", t, "SavedRowsConfig", config)},
      {.grid = {}, .block = {static_cast<unsigned>(32 * config.warps)}, .shared_bytes = 0}, rows);
}

}  // namespace vostok::ops::attention_backward
