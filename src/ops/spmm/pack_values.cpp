#include "ops/spmm/pack_values.hpp"

#include <vostok/spmm.hpp>

#include <abi/pack_values.h>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/grid.hpp"

namespace vostok::ops {

static_assert(codegen::lists_every_field<PackValuesTraits>(), "fields(PackValuesTraits) must name every member");
static_assert(codegen::lists_every_field<PackValuesConfig>(), "fields(PackValuesConfig) must name every member");

Launch pack_values_launch(const PackValues& what) {
  const PackValuesTraits traits = {.element_bytes = size_of(what.element)};
  const PackValuesConfig config;
  codegen::KernelRequest request = {
      .family = "pack_values",
      .header = "spmm/pack_values.h",
      .expression = codegen::name_expression("pack_values", "PackValuesTraits", traits, "PackValuesConfig", config)};
  const device::LaunchShape shape = {.grid = {}, .block = {static_cast<unsigned>(config.threads)}, .shared_bytes = 0};
  const auto binding = [what, threads = config.threads](const SpmmArguments& call, PackValuesArgs& args) {
    args = {.values = call.values,
            .positions = what.positions,
            .packed = call.workspace,
            .nonzeros = what.nonzeros,
            .value_stride = what.value_stride,
            .packed_stride = what.packed_stride,
            .batch = what.sets};
    return grid_of(ceil_div(what.nonzeros, threads), what.sets);
  };
  return Launch::of<SpmmArguments, PackValuesArgs>(std::move(request), shape, binding);
}

}  // namespace vostok::ops
