// Which sums of an SpMM on tensor cores are made again: each that is shows, where A's values as they are, which nothing
// else reads, are replaced with NaN.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "device/unpack_harness.hpp"
#include "ops/families.hpp"
#include "ops/spmm/unpack_mma.hpp"
#include "ops/spmm/unpack_wgmma.hpp"
#include "sparse/generate.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 3431;
constexpr std::int64_t rows = 40, columns = 48;
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

/// What a column of B holds, by its number.
enum class Column { zeros, zeros_in_a_k_block, one_above_all };
Column kind_of(std::int64_t column) { return static_cast<Column>(column % 3); }

/// Positive, so that no sum is small because its products cancel.
float positive(sparse::Random& random) { return 0.5F + static_cast<float>(random.uniform()); }

float element_of(Column column, std::int64_t k, sparse::Random& random) {
  switch (column) {
    case Column::zeros: return 0.0F;
    case Column::zeros_in_a_k_block: return k / 64 == 1 ? 0.0F : 0x1p-20F * positive(random);
    case Column::one_above_all: return positive(random) * (k == 0 ? 0x1p20F : 0x1p-18F);
  }
  return 0.0F;
}

float& dense_at(tune::SpmmHost& host, std::int64_t k, std::int64_t column) {
  const std::int64_t leading = host.dense_shape.leading;
  const bool by_rows = host.problem.dense_layout == Layout::row_major;
  return host.dense[static_cast<std::size_t>(by_rows ? k * leading + column : column * leading + k)];
}

/// Every row of A loses something of its first value, and has zeros nowhere.
UnpackCase made(Layout layout, Math math) {
  const Spmm problem = {.n = columns,
                        .dense_layout = layout,
                        .math = math,
                        .nonfinite = NonFinite::sparse,
                        .value_lifetime = ValueLifetime::persistent};
  UnpackCase c(sparse::uniform(rows, 200, 0.5, seed), problem, seed);
  sparse::Random random(seed);
  for (float& value : c.host.values) value = positive(random);
  for (std::size_t row = 0; row < rows; ++row)
    c.host.values[static_cast<std::size_t>(c.host.walked.row_offsets[row])] *= 0x1p-30F;
  for (std::int64_t k = 0; k < c.host.walked.cols; ++k)
    for (std::int64_t column = 0; column < columns; ++column)
      dense_at(c.host, k, column) = element_of(kind_of(column), k, random);
  return c;
}

struct Way {
  const ops::Family* family;
  ops::Config config;
};

/// B split by the blocks, k whole; and prepared by a launch, k in parts. In two terms, under tf32 in one.
std::vector<Way> ways(const ops::SpmmQuery& query) {
  const PackedMode mode = query.problem.math == Math::tf32 ? PackedMode::f16_scaled : PackedMode::f16x3;
  std::vector<ops::Config> mma, wgmma;
  for (const bool prepare : {false, true}) {
    mma.push_back(ops::Config::of(UnpackMmaConfig{.mode = mode,
                                                  .row_warps = 1,
                                                  .column_warps = 2,
                                                  .warp_strips = 1,
                                                  .warp_columns = 32,
                                                  .stages = 3,
                                                  .strip_pairs = 256,
                                                  .promotion_blocks = 1,
                                                  .k_split = prepare ? 2 : 1,
                                                  .prepare_dense = prepare}));
    wgmma.push_back(ops::Config::of(UnpackWgmmaConfig{.mode = mode,
                                                      .warpgroups = 1,
                                                      .tile_columns = 64,
                                                      .promotion_blocks = prepare ? 2 : 1,
                                                      .k_split = prepare ? 2 : 1,
                                                      .prepare_dense = prepare,
                                                      .producer_warps = prepare ? 1 : 4}));
  }
  std::vector<Way> list;
  for (const auto& [name, configs] : {std::pair("unpack_mma", mma), std::pair("unpack_wgmma", wgmma)})
    for (const ops::Config& config : configs) list.push_back({ops::find_family("spmm", name), config});
  return list;
}

/// body(on, way) for each way on each device that has it.
template <class Body>
void each_way(const UnpackCase& c, Body body) {
  for (const Way& way : ways(c.query(nullptr))) {
    INFO(std::string(way.family->name()), ", ", to_text(way.config.to_map()));
    const auto reason = way.family->forbidden(c.query(nullptr), way.config);
    REQUIRE_MESSAGE(!reason, reason.value_or(""));
    for (const NamedDevice& on : kernel_devices()) {
      INFO(on.name);
      if (way.family->runs_on(on.device->architecture())) body(on, way);
    }
  }
}

/// body(case) for every layout of B and both certified modes.
template <class Body>
void each_case(Body body) {
  for (const Layout layout : {Layout::row_major, Layout::column_major})
    for (const Math math : {Math::accurate, Math::tf32}) {
      CAPTURE(std::string(name(layout)));
      CAPTURE(std::string(name(math)));
      body(made(layout, math));
      if (thread_sanitized) return;
    }
}

/// C, NaN where a sum was made again.
std::vector<float> run_showing(device::Device& device, const Way& way, const UnpackCase& c) {
  const ops::SpmmQuery query = c.query(&device);
  const ops::StripKind kind = *ops::find_strip_kind(way.family->packed_format(query, way.config));
  REQUIRE(kind.marked);
  const DeviceForm form(device, c.form_of(kind.grain));
  const ops::PackedLayout layout = ops::packed_layout(kind, form.pointers().packed);
  std::vector<std::byte> packed = packed_sets(c, kind, layout);
  const std::vector<float> spoilt(static_cast<std::size_t>(c.host.walked.nonzeros()), nan_value);
  std::memcpy(packed.data() + layout.exact_offset_bytes, spoilt.data(), spoilt.size() * sizeof(float));
  const PackedRun run(device, *way.family, c.host, query, way.config, form.pointers(), packed);
  run.enqueue();
  return run.output();
}

/// Outputs of the columns of a kind.
std::vector<float> of_columns(const UnpackCase& c, const std::vector<float>& output, Column kind) {
  std::vector<std::int64_t> list;
  for (std::int64_t column = 0; column < columns; ++column)
    if (kind_of(column) == kind) list.push_back(column);
  return c.host.columns_of(output, 0, list);
}

auto made_again(const std::vector<float>& sums) {
  return std::count_if(sums.begin(), sums.end(), [](float sum) { return std::isnan(sum); });
}

}  // namespace

TEST_CASE("sums of columns of zeros are not made again, and k blocks of zeros have no others made again") {
  each_case([](const UnpackCase& c) {
    each_way(c, [&](const NamedDevice& on, const Way& way) {
      const std::vector<float> output = run_showing(*on.device, way, c);
      const std::vector<float> of_zeros = of_columns(c, output, Column::zeros);
      CHECK(std::count(of_zeros.begin(), of_zeros.end(), 0.0F) == std::ssize(of_zeros));
      CHECK(made_again(of_columns(c, output, Column::zeros_in_a_k_block)) == 0);
      CHECK(made_again(of_columns(c, output, Column::one_above_all)) > 0);  // of rows that do not meet that one
      check_unpack(on, *way.family, c, way.config);
    });
  });
}

TEST_CASE("k blocks of zeros times what is not finite, and columns of which all else is, are as IEEE has them") {
  each_case([](UnpackCase c) {
    const auto first_of = [&](std::size_t row) { return static_cast<std::size_t>(c.host.walked.row_offsets[row]); };
    c.host.values[first_of(3) + 2] = infinity;
    c.host.values[first_of(20)] = nan_value;
    c.host.values[first_of(31) + 50] = -infinity;
    const std::int64_t named = c.host.walked.column_indices[first_of(36) + 30];
    dense_at(c.host, named, 0) = infinity;
    dense_at(c.host, named, 3) = nan_value;
    std::vector<std::int64_t> every(static_cast<std::size_t>(columns));
    for (std::size_t i = 0; i < every.size(); ++i) every[i] = static_cast<std::int64_t>(i);
    const std::vector<double> reference = c.host.reference(0, every);
    each_way(c, [&](const NamedDevice& on, const Way& way) {
      const std::vector<float> found = c.host.columns_of(run_unpack(*on.device, *way.family, c, way.config), 0, every);
      std::int64_t wrong = 0;
      for (std::size_t i = 0; i < found.size(); ++i)
        if (std::isnan(reference[i])) wrong += std::isnan(found[i]) ? 0 : 1;
        else if (std::isinf(reference[i]) || reference[i] == 0) wrong += found[i] == reference[i] ? 0 : 1;
        else wrong += std::isfinite(found[i]) ? 0 : 1;
      CHECK(wrong == 0);
    });
  });
}
