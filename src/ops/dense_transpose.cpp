#include "ops/dense_transpose.hpp"

#include "codegen/expression.hpp"

namespace vostok::ops::dense_transpose {

static_assert(codegen::lists_every_field<DenseTransposeTraits>(),
              "fields(DenseTransposeTraits) must name every member");
static_assert(codegen::lists_every_field<DenseTransposeConfig>(),
              "fields(DenseTransposeConfig) must name every member");

DenseTransposeTraits traits(Dtype element, bool aligned) {
  return {.element_bytes = size_of(element), .chunks = aligned && size_of(element) == 2};
}

/// Rows of a tile have 128 bytes for every element type.
DenseTransposeConfig config(Dtype element) { return {.tile = 128 / size_of(element), .threads = 256}; }

codegen::KernelRequest request(Dtype element, bool aligned) {
  return {.family = "dense_transpose",
          .header = "dense/transpose.h",
          .expression = codegen::name_expression("dense_transpose", "DenseTransposeTraits", traits(element, aligned),
                                                 "DenseTransposeConfig", config(element))};
}

device::LaunchShape shape(Dtype element, bool aligned) {
  return {.grid = {},
          .block = {static_cast<unsigned>(config(element).threads)},
          .shared_bytes = shared_bytes(traits(element, aligned), config(element))};
}

device::Dim3 bind(const DenseTransposition& t, int tile, DenseTransposeArgs& args) {
  const std::int64_t source_leading = t.source_leading != 0 ? t.source_leading : t.columns;
  const std::int64_t destination_leading = t.destination_leading != 0 ? t.destination_leading : t.rows;
  args = {.source = t.source,
          .destination = t.destination,
          .rows = t.rows,
          .columns = t.columns,
          .source_leading = source_leading,
          .destination_leading = destination_leading,
          .source_stride = t.source_stride != 0 ? t.source_stride : t.rows * source_leading,
          .destination_stride = t.destination_stride != 0 ? t.destination_stride : t.columns * destination_leading,
          .batch = t.batch};
  const std::int64_t tiles = ceil_div(t.rows, tile) * ceil_div(t.columns, tile);
  return grid_of(std::min(tiles, most_blocks_on_x), t.batch);
}

}  // namespace vostok::ops::dense_transpose
