#include "ops/spmm/packed_operand.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "device/architecture.hpp"
#include "ops/machine.hpp"
#include "ops/topology/pack_strips.hpp"

namespace vostok::ops {

namespace {

/// Workspace sizes must not depend on the structure: there is room for any structure with the query's statistics.
PackedLayout layout_of(const SpmmQuery& query, StripKind kind, const PackedStructure& structure) {
  return packs_in_workspace(query) ? packed_layout_bound(kind, query.statistics) : packed_layout(kind, structure);
}

/// Bytes of a set of strips. Assumes that each nonzero has a pair of its own: an upper bound, and close to it for most
/// masks.
double packed_bytes(const SpmmQuery& query, StripKind kind) {
  const auto strips = static_cast<double>(packed_strip_count(query.statistics.rows, query.statistics.cols));
  const int words = packed_pair_words(kind.mode);
  if (kind.grain == PackedGrain::whole) return strips * packed_unit_bytes() * packed_strip_units(kind.grain, 0, words);
  return strips * packed_header_bytes(kind.grain) + static_cast<double>(query.statistics.nonzeros) * 4 * words;
}

}  // namespace

std::optional<std::string> packed_operand_declined(const SpmmQuery& query) {
  constexpr std::int64_t most_accurate_k = 65536;
  const Spmm& problem = query.problem;
  const TopologyStatistics& s = query.statistics;
  if (s.nonzeros == 0) return "A has no nonzeros";
  if (problem.math == Math::strict)
    return "math = strict is f32 multiply-adds, and this family multiplies on tensor cores";
  if (problem.element == Dtype::f32 && problem.math == Math::accurate && s.cols > most_accurate_k)
    return "math = accurate allows tensor cores up to K = 65536";
  if (s.rows > std::numeric_limits<std::int32_t>::max() || s.cols > std::numeric_limits<std::int32_t>::max())
    return "row and column numbers have 32 bits";
  return packed_strips_declined(s);
}

std::vector<PackedMode> product_modes(const SpmmQuery& query) {
  if (query.problem.element == Dtype::f16) return {PackedMode::f16x1};
  if (query.problem.element == Dtype::bf16) return {PackedMode::bf16x1};
  if (query.problem.math == Math::tf32) return {PackedMode::f16_scaled, PackedMode::bf16x3, PackedMode::f16x3};
  return {PackedMode::f16x3};
}

double hidden_start_us(const SpmmQuery& query, double blocks, double room, double most_us) {
  constexpr int least_capability = 90;
  if (packs_in_workspace(query)) return 0;
  if (query.device != nullptr) {
    const auto name = device::parse_architecture(query.device->architecture());
    if (!name || name->capability < least_capability) return 0;
  }
  return most_us * std::clamp(room / std::max(blocks, 1.0) - 1, 0.0, 1.0);
}

double strip_wait_us(const SpmmQuery& query, double latency_us, double entry_us) {
  const TopologyStatistics& s = query.statistics;
  const auto strips = static_cast<double>(ceil_div(s.rows, packed_strip_rows()) * packed_k_blocks(s.cols));
  return (latency_us + entry_us * static_cast<double>(s.nonzeros) / std::max(strips, 1.0)) / machine_of(query).speed();
}

double packing_us(const SpmmQuery& query, StripKind kind, bool crowded) {
  const int terms = packed_pair_words(kind.mode);
  const double latency_us = (terms == 1 ? 0.9 : 1.8) + (crowded ? 1.1 : 0);  // rows of two terms are scaled first
  const double entry_us = (crowded ? 9e-3 : 3.5e-3) * (terms == 1 ? 1 : 1.55);
  // For each term; most of it for strips that are nearly empty. Whole ones have 2 KB to write.
  const double strip_us = kind.grain == PackedGrain::whole ? 0.9e-3 : 0.27e-3;
  constexpr double nonzero_us = 1.8e-6;                   // for each term
  const double scattered_us = terms == 1 ? 3e-6 : 15e-6;  // for a transpose's value, read from its place in A
  const auto strips = static_cast<double>(packed_strip_count(query.statistics.rows, query.statistics.cols));
  const auto nonzeros = static_cast<double>(query.statistics.nonzeros);
  const double one_set = terms * (strip_us * strips + nonzero_us * nonzeros) +
                         (query.problem.sparse_transposed ? scattered_us * nonzeros : 0);
  return strip_wait_us(query, latency_us, entry_us) +
         static_cast<double>(packed_sets(query)) * one_set / machine_of(query).speed();
}

bool reads_strips_once(const SpmmQuery& query, StripKind kind, int tile_columns) {
  if (packs_in_workspace(query) || query.n.most > tile_columns || packed_sets(query) < query.problem.batch)
    return false;
  if (query.policy == Policy::cold) return true;
  if (query.device == nullptr || query.device->info().l2_bytes <= 0) return false;
  return packed_bytes(query, kind) > static_cast<double>(query.device->info().l2_bytes);
}

std::int64_t packed_workspace_bytes(const SpmmQuery& query, StripKind kind) {
  if (!packs_in_workspace(query)) return 0;
  return checked_multiply(packed_sets(query), packed_layout_bound(kind, query.statistics).set_bytes,
                          "bytes of packed values");
}

PackedOperand packed_operand(const SpmmQuery& query, StripKind kind, const TopologyPointers& topology,
                             std::int64_t workspace_offset_bytes) {
  const PackedStructure& structure = topology.packed;
  const PackedLayout layout = layout_of(query, kind, structure);
  return {.offsets = structure.unit_offsets[packed_pair_words(kind.mode) - 1],
          .left_over = {.row_starts = structure.left_starts, .entries = nullptr},
          .exact_of_call = {.values = nullptr,
                            .places = structure.value_places,
                            .firsts = structure.row_starts,
                            .stride = query.value_stride()},
          .firsts_offset_bytes = layout.firsts_offset_bytes,
          .data_offset_bytes = layout.data_offset_bytes,
          .left_offset_bytes = layout.left_offset_bytes,
          .exact_offset_bytes = layout.exact_offset_bytes,
          .set_bytes = packed_sets(query) > 1 ? layout.set_bytes : 0,
          .workspace_offset_bytes = workspace_offset_bytes,
          .row_strips = structure.row_strips,
          .k_blocks = structure.k_blocks,
          .in_workspace = packs_in_workspace(query)};
}

Launch pack_strips_launch(const SpmmQuery& query, StripKind kind, const TopologyPointers& topology,
                          std::int64_t workspace_offset_bytes) {
  const PackStrips what = {
      .kind = kind,
      .placed = query.problem.sparse_transposed,
      .element = query.problem.element,
      .structure = topology.packed,
      .layout = layout_of(query, kind, topology.packed),
      .value_stride = query.value_stride(),
      .sets = packed_sets(query),
      .multiprocessors = query.device != nullptr ? query.device->info().multiprocessors : PackStrips{}.multiprocessors};
  return pack_strips_launch<SpmmArguments>(what, [workspace_offset_bytes](const SpmmArguments& call) {
    return Packing{.values = call.values,
                   .packed = static_cast<unsigned char*>(call.workspace) + workspace_offset_bytes};
  });
}

PackedStrips PackedOperand::strips(const SpmmArguments& call) const {
  const auto* const set = in_workspace ? static_cast<const unsigned char*>(call.workspace) + workspace_offset_bytes
                                       : static_cast<const unsigned char*>(call.packed.memory());
  LeftOver own = left_over;
  if (own.row_starts != nullptr) own.entries = reinterpret_cast<const LeftEntry*>(set + left_offset_bytes);
  ExactValues exact = exact_of_call;
  if (in_workspace) {
    exact.values = static_cast<const float*>(call.values);  // read of marked strips alone, whose values are f32
    if (set_bytes == 0) exact.stride = 0;
  } else {
    exact = {.values = reinterpret_cast<const float*>(set + exact_offset_bytes),
             .places = nullptr,
             .firsts = reinterpret_cast<const int*>(set + firsts_offset_bytes),
             .stride = set_bytes / std::int64_t{sizeof(float)}};
  }
  return {.offsets = offsets,
          .data = set + data_offset_bytes,
          .row_scales = data_offset_bytes > 0 ? reinterpret_cast<const float*>(set) : nullptr,
          .row_strips = row_strips,
          .k_blocks = k_blocks,
          .set_bytes = set_bytes,
          .left_over = own,
          .exact = exact};
}

}  // namespace vostok::ops
