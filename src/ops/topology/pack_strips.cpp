#include "ops/topology/pack_strips.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/grid.hpp"

namespace vostok::ops::pack_strips {

namespace {

static_assert(codegen::lists_every_field<PackStripsTraits>(), "fields(PackStripsTraits) must name every member");
static_assert(codegen::lists_every_field<PackStripsConfig>(), "fields(PackStripsConfig) must name every member");

PackStripsTraits traits(const PackStrips& what) {
  return {.mode = what.kind.mode,
          .element = what.element,
          .grain = what.kind.grain,
          .marked = what.kind.marked,
          .placed = what.placed};
}

/// If rows are scaled few blocks share a row strip, so each has many warps; otherwise small blocks leave less of a
/// device idle. Side by side the more strips share what they read, the better.
PackStripsConfig config(const PackStrips& what) {
  return {.threads = packed_scales_rows(what.kind.mode) || packs_beside(traits(what)) ? 256 : 128};
}

/// Strips that a block works at, and row strips that these are of.
std::int64_t warps_of(const PackStrips& what) { return config(what).threads / packed_lanes(); }
std::int64_t strips_beside(const PackStrips& what) { return packs_beside(traits(what)) ? warps_of(what) : 1; }

/// Blocks that share the strips of a row strip, or of neighbouring ones: enough to fill the device, none without work.
/// If rows are scaled each block computes the scales for itself, so that fewer share.
std::int64_t splits_of(const PackStrips& what) {
  const std::int64_t beside = strips_beside(what);
  const std::int64_t blocks_per_multiprocessor = packed_scales_rows(what.kind.mode) ? 3 : beside > 1 ? 6 : 8;
  const std::int64_t wanted = ceil_div(blocks_per_multiprocessor * what.multiprocessors,
                                       std::max<std::int64_t>(what.structure.row_strips / beside * what.sets, 1));
  return std::clamp<std::int64_t>(ceil_div(what.structure.k_blocks, warps_of(what) / beside), 1,
                                  std::max<std::int64_t>(wanted, 1));
}

}  // namespace

bool starts_after_previous(const PackStrips& what) {
  constexpr std::int64_t strips_per_multiprocessor = 32;
  const int passes = (what.placed ? 2 : 1) * (packed_scales_rows(what.kind.mode) ? 2 : 1);
  const std::int64_t strips = std::int64_t{what.structure.row_strips} * what.structure.k_blocks * what.sets;
  return passes * strips > strips_per_multiprocessor * what.multiprocessors;
}

codegen::KernelRequest request(const PackStrips& what) {
  return {.family = "pack_strips",
          .header = "topology/pack_strips.h",
          .expression = codegen::name_expression("pack_strips", "PackStripsTraits", traits(what), "PackStripsConfig",
                                                 config(what))};
}

device::LaunchShape shape(const PackStrips& what) {
  return {.grid = {},
          .block = {static_cast<unsigned>(config(what).threads)},
          .shared_bytes = shared_bytes(traits(what), config(what))};
}

device::Dim3 bind(const PackStrips& what, const Packing& packing, PackStripsArgs& args) {
  auto* const memory = static_cast<unsigned char*>(packing.packed);
  const std::int64_t splits = splits_of(what);
  args = {.structure = what.structure,
          .values = packing.values,
          .data = memory + what.layout.data_offset_bytes,
          .row_scales = packed_scales_rows(what.kind.mode) ? reinterpret_cast<float*>(memory) : nullptr,
          .left_over = what.kind.grain == PackedGrain::four
                           ? reinterpret_cast<LeftEntry*>(memory + what.layout.left_offset_bytes)
                           : nullptr,
          .firsts = what.keeps_exact ? reinterpret_cast<int*>(memory + what.layout.firsts_offset_bytes) : nullptr,
          .exact = what.keeps_exact ? reinterpret_cast<float*>(memory + what.layout.exact_offset_bytes) : nullptr,
          .value_stride = what.value_stride,
          .set_bytes = what.layout.set_bytes,
          .sets = static_cast<unsigned>(what.sets),
          .splits = static_cast<unsigned>(splits)};
  return grid_of(what.structure.row_strips / strips_beside(what), what.sets * splits);
}

}  // namespace vostok::ops::pack_strips
