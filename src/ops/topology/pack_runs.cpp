#include "ops/topology/pack_runs.hpp"

#include "codegen/expression.hpp"
#include "ops/grid.hpp"
#include "ops/topology/packed_runs.hpp"

namespace vostok::ops::pack_runs {

namespace {

static_assert(codegen::lists_every_field<PackRunsTraits>(), "fields(PackRunsTraits) must name every member");
static_assert(codegen::lists_every_field<PackRunsConfig>(), "fields(PackRunsConfig) must name every member");

constexpr PackRunsConfig config;

}  // namespace

codegen::KernelRequest request(const PackRuns& what) {
  const PackRunsTraits traits = {.element = what.element, .gap_bits = what.gap_bits};
  return {.family = "pack_runs",
          .header = "topology/pack_runs.h",
          .expression = codegen::name_expression("pack_runs", "PackRunsTraits", traits, "PackRunsConfig", config)};
}

device::LaunchShape shape() {
  return {.grid = {}, .block = {static_cast<unsigned>(config.threads)}, .shared_bytes = 0};
}

device::Dim3 bind(const PackRuns& what, const Packing& packing, PackRunsArgs& args) {
  const std::int64_t set_bytes = run_value_bytes(what.structure.groups, what.element);
  const std::int64_t pieces = set_bytes / run_piece_bytes();
  args = {.runs = what.structure,
          .values = packing.values,
          .packed = static_cast<unsigned char*>(packing.packed),
          .value_stride = what.value_stride,
          .set_bytes = set_bytes,
          .pieces = pieces,
          .sets = static_cast<unsigned>(what.sets)};
  return grid_of(ceil_div(pieces, config.threads), what.sets);
}

}  // namespace vostok::ops::pack_runs
