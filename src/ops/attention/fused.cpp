#include "ops/attention/fused.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/dense_transpose.hpp"
#include "ops/machine.hpp"
#include "ops/mask_runs.hpp"

namespace vostok::ops::fused_attention {

namespace {

static_assert(codegen::lists_every_field<FusedAttentionTraits>(),
              "fields(FusedAttentionTraits) must name every member");
static_assert(codegen::lists_every_field<JoinSlicesConfig>(), "fields(JoinSlicesConfig) must name every member");

/// Whether lines of 16 bytes may be loaded and stored everywhere.
bool is_aligned(const SparseAttention& attention) {
  const std::int64_t elements = 16 / size_of(attention.element);
  const std::int64_t together = attention.query_leading | attention.key_leading | attention.value_leading |
                                attention.output_leading | attention.query_stride | attention.key_stride |
                                attention.value_stride | attention.output_stride;
  return attention.alignment_bytes == 16 && together % elements == 0;
}

std::int64_t lines(const AttentionQuery& query, const Cut& cut) {
  return checked_multiply(checked_multiply(query.attention().batch, query.statistics.rows, "rows of all heads"),
                          cut.slices, "rows of all slices");
}

std::int64_t sums_bytes(const AttentionQuery& query, const Cut& cut) {
  if (cut.slices == 1) return 0;
  return checked_multiply(lines(query, cut),
                          rounded_head_size(query.attention().value_size) * std::int64_t{sizeof(float)},
                          "partial sums of attention");
}

std::int64_t partial_bytes(const AttentionQuery& query, const Cut& cut) {
  if (cut.slices == 1) return 0;
  return sums_bytes(query, cut) + checked_multiply(lines(query, cut), 2 * sizeof(float), "partial rows of attention");
}

}  // namespace

HeadSizes head_sizes(const SparseAttention& attention) {
  const int key = rounded_head_size(attention.n), value = rounded_head_size(attention.value_size);
  return {.key = key, .value = value, .whole = key == attention.n && value == attention.value_size};
}

FusedAttentionTraits traits(const AttentionQuery& query) {
  const SparseAttention& attention = query.attention();
  const HeadSizes sizes = head_sizes(attention);
  return {.element = attention.element,
          .key_size = sizes.key,
          .value_size = sizes.value,
          .whole = sizes.whole,
          .statistics = attention.saved == Saved::row_statistics,
          .index = attention.index,
          .grouped = group_of(attention) > 1,
          .capped = attention.capped,
          .causal = attention.causal,
          .terms = terms_of(attention),
          .biased = attention.biased,
          .dropped = attention.dropped};
}

std::optional<std::string> declines(const SparseAttention& attention, const TopologyStatistics& mask) {
  if (attention.math == Math::strict) return "tensor cores do not add in the order of math = strict";
  if (attention.saved == Saved::probabilities) return "no probabilities are stored";
  if (attention.n < 1 || attention.n > most_head_size() || attention.value_size < 1 ||
      attention.value_size > most_head_size())
    return "sizes of keys and values are 1 to 256";
  if (!is_aligned(attention)) return "lines of all operands begin at multiples of 16 bytes";
  if (std::max({attention.query_leading, attention.key_leading, attention.value_leading, attention.output_leading}) >=
      std::int64_t{1} << 31)
    return "lines of an operand are less than 2^31 elements apart";
  if (attention.batch > most_blocks_on_y * most_blocks_on_y) return "heads exceed a grid";
  return key_tiles_declined(mask, {.queries = strip_queries()});
}

double seen_share(const SparseAttention& attention, const TopologyStatistics& mask) {
  if (!attention.causal || mask.rows == 0 || mask.cols == 0) return 1;
  const auto rows = static_cast<double>(mask.rows), cols = static_cast<double>(mask.cols);
  return cols >= rows ? 1 - rows / (2 * cols) : cols / (2 * rows);  // the last query sees every key
}

double expected_tiles(const TopologyStatistics& mask, int block_queries, double share) {
  const auto cols = static_cast<double>(mask.cols);
  const double span = spanned_share(mask);
  const double seen = std::min(share, span);  // of a mask that is causal by itself causal queries see all
  const double in_runs = std::clamp(mask.run_share, 0.0, 1.0);
  const double band = in_runs > 0 ? std::min(seen * cols, seen / span * in_runs * mask.mean_row + block_queries) : 0.0;
  const double density = cols > 0 ? std::min(1.0, (1 - in_runs) * mask.mean_row / (span * cols)) : 0.0;
  const double spread = (seen * cols - band) * (1 - std::pow(1 - density, block_queries));
  return std::max(1.0, std::ceil((band + std::max(spread, 0.0)) / tile_keys()));
}

namespace {

double expected_tiles(const AttentionQuery& query, int block_queries) {
  return fused_attention::expected_tiles(query.statistics, block_queries,
                                         seen_share(query.attention(), query.statistics));
}

}  // namespace

double predict_us(const AttentionQuery& query, const Cut& cut, const Pace& pace) {
  constexpr double launch_us = 3, join_us = 3;
  constexpr double l2_bytes_per_us = 7.8e6;
  const FusedAttentionTraits t = traits(query);
  const Machine machine = machine_of(query);
  const double full_tiles = expected_tiles(query, cut.block_queries);
  const double tiles = full_tiles + (key_classes(cut.parts) - 1) / 2.0;  // the last tile of a class is half empty
  const double share = cut.parts == 1 ? 1 : expected_tiles(query, cut.block_queries / cut.parts) / full_tiles;
  const auto blocks =
      static_cast<double>(query_blocks(query.statistics.rows, cut.block_queries) * query.attention().batch) *
      cut.column_parts;
  const double together = std::min(pace.resident, std::ceil(blocks * cut.slices / machine.multiprocessors));
  const double of_tile = pace.tile_factor * std::max({together * share * pace.tile_cycles, share * pace.least_cycles,
                                                      together * pace.shared_cycles, pace.copied_cycles});
  const double waves = std::max(1.0, blocks * cut.slices / (machine.multiprocessors * pace.resident));
  // Works are handed out in turn, not to whoever is free: where rows differ, so do the sums.
  const double uneven = cut.stay > 0 ? 1 + 0.15 * std::min(1.0, query.statistics.row_variation) : 1;
  const double of_work = std::ceil(tiles / cut.slices) * of_tile + pace.start_cycles;
  const double work = uneven * term_factors(t).works * waves * of_work / machine.cycles_per_us;
  const double tile_bytes = 2.0 * line_parts(t) * tile_keys() * (t.key_size + t.value_size);
  const double l2 = blocks * tiles * tile_bytes / (l2_bytes_per_us * machine.speed());
  const double partial =
      cut.slices > 1 ? join_us + 2 * static_cast<double>(partial_bytes(query, cut)) / machine.memory_bytes_per_us : 0;
  // Terms are written, and f32 is read; both are short of memory's bandwidth.
  const auto split_bytes = static_cast<double>(terms_places(query, cut.value_part).bytes);
  const double split = t.terms > 0 ? launch_us + 3 * split_bytes / machine.memory_bytes_per_us : 0;
  return launch_us + std::max(work, l2) + partial + split;
}

// Works are fitted to an H200 at masks of 98 and 99 % zeros (bench/notes/attention_in_f32.md#forward): else the
// composition, which is faster there, would not be chosen.
TermFactors term_factors(const FusedAttentionTraits& traits) {
  if (traits.terms == 0) return {};
  return {.wgmma_scores = 1.38, .works = traits.value_size > 64 ? 1.3 : 1.16};
}

std::int64_t workspace_bytes(const AttentionQuery& query, const Cut& cut) {
  return terms_places(query, cut.value_part).bytes + partial_bytes(query, cut);
}

void set_cap(FusedAttentionArgs& args, float softcap) {
  if (softcap == 0) return;
  constexpr float largest = std::numeric_limits<float>::max();
  args.softcap = softcap;
  args.cap_inner = args.scale / softcap;
  args.cap_exponent = std::min(softcap * std::numbers::log2e_v<float>, largest);
}

device::Dim3 Binding::operator()(const AttentionArguments& call, FusedAttentionArgs& args) const {
  args = fixed;
  args.query = call.query;
  args.key = call.key;
  args.value = call.value;
  args.bias = call.bias;
  args.output = call.output;
  args.statistics = static_cast<float*>(call.saved);
  args.scale = attention_scale(fixed.key_size, call.scale);
  set_cap(args, call.softcap);
  set_dropout(args, call);
  args.terms = terms.at(call.workspace);
  args.partial_sums = static_cast<float*>(workspace_at(call.workspace, terms.bytes));
  args.partial_rows = static_cast<float*>(workspace_at(call.workspace, terms.bytes + sums_bytes));
  if (joins) return grid_of(blocks, 1);
  return stay > 0 ? grid_of(std::min<std::int64_t>(stay, blocks * fixed.heads), 1) : grid_of(blocks, fixed.heads);
}

Binding binding(const AttentionQuery& query, const Cut& cut, const TopologyPointers& topology) {
  const SparseAttention& attention = query.attention();
  Binding bound{.fixed = {},
                .terms = terms_places(query, cut.value_part),
                .blocks = query_blocks(query.statistics.rows, cut.block_queries) * cut.slices * cut.column_parts,
                .stay = cut.stay * static_cast<std::int64_t>(machine_of(query).multiprocessors),
                .sums_bytes = sums_bytes(query, cut)};
  FusedAttentionArgs& args = bound.fixed;
  args.tiles = topology.key_tiles;
  args.row_offsets = static_cast<const int*>(topology.row_offsets);
  args.column_indices = topology.column_indices;
  args.query_leading = attention.query_leading;
  args.key_leading = attention.key_leading;
  args.value_leading = attention.value_leading;
  args.output_leading = attention.output_leading;
  args.query_stride = attention.query_stride;
  args.key_stride = attention.key_stride;
  args.value_stride = attention.value_stride;
  args.output_stride = attention.output_stride;
  args.bias_stride = attention.bias_stride;
  args.heads = attention.batch;
  args.group = static_cast<int>(group_of(attention));
  args.rows = query.statistics.rows;
  args.keys = query.statistics.cols;
  args.key_offset = query.statistics.cols - query.statistics.rows;
  args.key_size = static_cast<int>(attention.n);
  args.value_size = static_cast<int>(attention.value_size);
  return bound;
}

Launch join_launch(const AttentionQuery& query, const Cut& cut, const TopologyPointers& topology) {
  const JoinSlicesConfig config{.slices = cut.slices};
  Binding bound = binding(query, cut, topology);
  bound.joins = true;
  bound.blocks = ceil_div(query.attention().batch * query.statistics.rows, config.warps);
  return Launch::of<AttentionArguments, FusedAttentionArgs>(
      {.family = "join_slices",
       .header = "attention/join_slices.h",
       .expression =
           codegen::name_expression("join_slices", "FusedAttentionTraits", traits(query), "JoinSlicesConfig", config)},
      {.grid = {}, .block = {static_cast<unsigned>(32 * config.warps)}, .shared_bytes = 0}, bound);
}

}  // namespace vostok::ops::fused_attention
