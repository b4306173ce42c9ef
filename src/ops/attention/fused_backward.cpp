// fused_backward on the host: rules beside its kernels' (abi/fused_backward.h), its space, its cost model and its three
// launches.
#include <algorithm>
#include <array>

#include <abi/fused_backward.h>

#include "base/checked.hpp"
#include "ops/attention/fused_family.hpp"
#include "ops/families.hpp"
#include "ops/limits.hpp"
#include "ops/machine.hpp"

namespace vostok::ops {

namespace fused_backward {

namespace {

static_assert(codegen::lists_every_field<FusedBackwardTraits>(), "fields(FusedBackwardTraits) must name every member");
static_assert(codegen::lists_every_field<FusedBackwardConfig>(), "fields(FusedBackwardConfig) must name every member");

FusedBackwardTraits traits(const AttentionBackwardQuery& query, BackwardPart part) {
  const SparseAttention& attention = query.attention();
  const fused_attention::HeadSizes sizes = fused_attention::head_sizes(attention);
  const bool narrow = std::max(query.statistics.rows, query.statistics.cols) <= 65536;
  return {.part = part,
          .element = attention.element,
          .key_size = sizes.key,
          .value_size = sizes.value,
          .whole = sizes.whole,
          .index = narrow ? IndexType::u16 : IndexType::i32};
}

/// The transposed mask's, as far as they are known: any column may be full.
TopologyStatistics transposed(TopologyStatistics mask) {
  std::swap(mask.rows, mask.cols);
  mask.longest_row = mask.cols;
  mask.mean_row = mask.rows > 0 ? static_cast<double>(mask.nonzeros) / static_cast<double>(mask.rows) : 0;
  return mask;
}

// Rules: what only the problem or the device knows.

using Case = ops::Case<AttentionBackwardQuery, FusedBackwardTraits, FusedBackwardConfig>;
using Rule = ops::Rule<Case>;

/// Registers of a thread for addresses, row statistics and fragments on their way.
constexpr int other_registers = 56;

/// Ordered so that each may rely on those before it, and all on the kernels'.
constexpr std::array rules = {
    Rule{"own lines and stages do not fit a block's shared memory",
         [](const Case& c) {
           return shared_bytes(c.traits, c.config) > most_shared_bytes(c.query.device, block_shared_bytes_of_sm_80);
         }},
    Rule{"sums and scores do not fit a thread's registers",
         [](const Case& c) {
           return lane_registers(c.traits, c.config) + other_registers >
                  registers_of_thread(threads(c.config), c.config.min_blocks);
         }},
    Rule{"a multiprocessor's shared memory or threads are fewer than min_blocks blocks have",
         [](const Case& c) {
           const Multiprocessor sm = multiprocessor_of(c.query.device, least_multiprocessor_of_sm_80);
           return c.config.min_blocks >
                  std::max(1, sm.resident_blocks(threads(c.config), 32, shared_bytes(c.traits, c.config)));
         }},
    Rule{"the mask has no tiles for blocks of so many lines",
         [](const Case& c) {
           return key_tiles_declined(c.query.statistics, block_queries(c.config)).has_value() ||
                  key_tiles_declined(transposed(c.query.statistics), block_queries(c.config)).has_value();
         }},
};

const char* reason(const AttentionBackwardQuery& query, const FusedBackwardConfig& config) {
  return reason_against(Case{query, traits(query, BackwardPart::by_key), config}, rules);
}

// The cost model, for ranking only: nine products of the forward pass's two, or what three kernels gather. Fitted to
// two masks on an H200 (bench/notes/fused_attention.md#gradients).

double predict_us(const AttentionBackwardQuery& query, const FusedBackwardConfig& config) {
  constexpr double launches_us = 9;
  constexpr double multiply_adds_per_cycle = 580;  // of an SM, with exponentials and reads of shared memory
  constexpr double products = 4.5;                 // of both sizes, for two walks
  constexpr double gathered_bytes_per_us = 3.5e6, walks = 3;
  const FusedBackwardTraits t = traits(query, BackwardPart::by_key);
  const Machine machine = machine_of(query);
  const double size = t.key_size + t.value_size;
  const auto tiles = [&](const TopologyStatistics& mask) {
    return static_cast<double>(query_blocks(mask.rows, block_queries(config)) * query.attention().batch) *
           fused_attention::expected_tiles(mask, block_queries(config));
  };
  const double both = tiles(query.statistics) + tiles(transposed(query.statistics));
  const double resident = 1 + 0.1 * config.min_blocks;
  const double work = products / 2 * both * block_queries(config) * tile_keys() * size /
                      (multiply_adds_per_cycle * machine.multiprocessors * machine.cycles_per_us * resident);
  const double gathered = walks / 2 * both * 2 * tile_keys() * size / (gathered_bytes_per_us * machine.speed());
  return launches_us + std::max(work, gathered);
}

// The space, as tables.

constexpr std::array warp_counts = {4, 8, 2};
constexpr std::array step_sizes = {32, 64, 16};
constexpr std::array stage_counts = {2, 3};

template <class Visit>
void for_each_config(Visit visit) {
  for (const int warps : warp_counts)
    for (const int step_keys : step_sizes)
      for (const int stages : stage_counts)
        for (const int min_blocks : {2, 1, 3})
          visit(
              FusedBackwardConfig{.warps = warps, .step_keys = step_keys, .stages = stages, .min_blocks = min_blocks});
}

/// Fills a kernel's arguments from a call's.
struct Binding {
  FusedBackwardArgs fixed;
  std::int64_t blocks;
  BackwardPart part;

  device::Dim3 operator()(const AttentionBackwardArguments& call, FusedBackwardArgs& args) const {
    args = fixed;
    args.walk.scale = attention_scale(fixed.walk.key_size, call.scale);
    args.statistics = static_cast<float*>(call.workspace);
    const bool by_key = part == BackwardPart::by_key;
    args.walk.query = by_key ? call.key : call.query;
    args.walk.key = by_key ? call.query : call.key;
    args.walk.value = by_key ? call.output_gradient : call.value;
    args.own_values = by_key ? call.value : call.output_gradient;
    args.key_gradient = by_key ? call.key_gradient : call.query_gradient;
    args.value_gradient = call.value_gradient;
    return grid_of(blocks, fixed.walk.heads);
  }
};

struct Lines {
  std::int64_t leading;
  std::int64_t stride;
};

Launch launch(const AttentionBackwardQuery& query, const FusedBackwardConfig& config, BackwardPart part,
              const TopologyPointers& topology) {
  const SparseAttention& attention = query.attention();
  const bool by_key = part == BackwardPart::by_key;
  const Lines queries{attention.query_leading, attention.query_stride},
      keys{attention.key_leading, attention.key_stride}, values{attention.value_leading, attention.value_stride},
      outputs{attention.output_leading, attention.output_stride};
  const Lines own = by_key ? keys : queries, own_values = by_key ? values : outputs;
  const Lines other = by_key ? queries : keys, other_values = by_key ? outputs : values;
  Binding binding{.fixed = {}, .blocks = 0, .part = part};
  FusedAttentionArgs& walk = binding.fixed.walk;
  walk.query_leading = own.leading;
  walk.query_stride = own.stride;
  walk.key_leading = other.leading;
  walk.key_stride = other.stride;
  walk.value_leading = other_values.leading;
  walk.value_stride = other_values.stride;
  walk.heads = attention.batch;
  walk.rows = by_key ? query.statistics.cols : query.statistics.rows;
  walk.key_size = static_cast<int>(attention.n);
  walk.value_size = static_cast<int>(attention.value_size);
  walk.tiles = by_key ? topology.transposed.key_tiles : topology.key_tiles;
  walk.row_offsets = static_cast<const int*>(by_key ? topology.transposed.row_offsets : topology.row_offsets);
  walk.column_indices = by_key ? topology.transposed.column_indices : topology.column_indices;
  binding.fixed.own_values_leading = own_values.leading;
  binding.fixed.own_values_stride = own_values.stride;
  binding.fixed.queries = query.statistics.rows;
  binding.blocks = query_blocks(walk.rows, block_queries(config));
  const FusedBackwardTraits t = traits(query, part);
  return Launch::of<AttentionBackwardArguments, FusedBackwardArgs>(
      {.family = "fused_backward",
       .header = "attention/fused_backward.h",
       .expression =
           codegen::name_expression("fused_backward", "FusedBackwardTraits", t, "FusedBackwardConfig", config)},
      {.grid = {}, .block = {static_cast<unsigned>(threads(config))}, .shared_bytes = shared_bytes(t, config)},
      binding);
}

}  // namespace
}  // namespace fused_backward

namespace {

struct FusedBackward : fused_attention::ListedFamily<FusedBackward, AttentionBackwardQuery, FusedBackwardConfig> {
  static constexpr std::string_view name = "fused_backward";
  static constexpr const char* why_not_there = "mma of 16 x 8 x 16 and cp.async came with sm_80";
  static bool runs_on(std::string_view architecture) { return architecture != "sm_75"; }

  static constexpr auto reason = fused_backward::reason;
  static constexpr auto predict_us = fused_backward::predict_us;
  static constexpr Config smallest_config = {.warps = 2, .step_keys = 16};
  static constexpr std::size_t short_list_length = 8;
  static void for_each_config(const auto& visit) { fused_backward::for_each_config(visit); }

  static TopologyNeeds needs(const Query& query, const Config& config) {
    return {.index = fused_backward::traits(query, BackwardPart::rows).index,
            .key_tile_queries = block_queries(config),
            .transposed_key_tiles = true};
  }
  /// Two numbers for each query.
  static std::int64_t workspace_bytes(const Query& query, const Config&) {
    const std::int64_t queries =
        checked_multiply(query.attention().batch, query.statistics.rows, "queries of all heads");
    return checked_multiply(queries, 2 * sizeof(float), "numbers of all queries");
  }
  static std::vector<Launch> launches(const Query& query, const Config& config, const TopologyPointers& topology) {
    std::vector<Launch> list;
    for (const BackwardPart part : {BackwardPart::rows, BackwardPart::by_query, BackwardPart::by_key})
      list.push_back(fused_backward::launch(query, config, part, topology));
    return list;
  }
};

}  // namespace

std::unique_ptr<Family> make_fused_backward() { return family_of<FusedBackward>(); }

}  // namespace vostok::ops
