#include "ops/topology/pack_sparse.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/grid.hpp"

namespace vostok::ops::pack_sparse {

namespace {

static_assert(codegen::lists_every_field<PackSparseTraits>(), "fields(PackSparseTraits) must name every member");
static_assert(codegen::lists_every_field<PackSparseConfig>(), "fields(PackSparseConfig) must name every member");

constexpr PackSparseTraits traits;
constexpr PackSparseConfig config;

}  // namespace

codegen::KernelRequest request() {
  return {
      .family = "pack_sparse",
      .header = "topology/pack_sparse.h",
      .expression = codegen::name_expression("pack_sparse", "PackSparseTraits", traits, "PackSparseConfig", config)};
}

device::LaunchShape shape() {
  return {.grid = {}, .block = {static_cast<unsigned>(config.threads)}, .shared_bytes = shared_bytes(traits, config)};
}

device::Dim3 bind(const PackSparse& what, const Packing& packing, PackSparseArgs& args) {
  constexpr std::int64_t blocks_per_multiprocessor = 16;
  args = {.structure = what.structure,
          .values = packing.values,
          .data = static_cast<unsigned char*>(packing.packed),
          .value_stride = what.value_stride,
          .set_bytes = what.set_bytes,
          .sets = static_cast<unsigned>(what.sets)};
  const std::int64_t strips = std::int64_t{what.structure.row_strips} * what.structure.k_blocks;
  const std::int64_t blocks =
      std::min(ceil_div(strips, config.threads / packed_lanes()), blocks_per_multiprocessor * what.multiprocessors);
  return grid_of(blocks, what.sets);
}

}  // namespace vostok::ops::pack_sparse
