// tensor_sample against float64, on the emulator in several thread orders and
// on every GPU: every pair of what a problem may ask for, configs of the space,
// edges, and what must not leak.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "config_fields.hpp"
#include "device/pairwise.hpp"
#include "device/sddmm_levels.hpp"
#include "device/tensor_sample_harness.hpp"
#include "sparse/elements.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 20401;

/// The emulator's thread orders take turns, and every GPU has every turn.
std::vector<const NamedDevice *> devices_for(std::size_t turn) {
  std::vector<const NamedDevice *> orders;
  std::vector<const NamedDevice *> list;
  for (const NamedDevice &on : tensor_devices()) (on.is_emulator() ? orders : list).push_back(&on);
  if (!orders.empty()) list.push_back(orders[turn % orders.size()]);
  return list;
}

ops::SddmmQuery query_of(const Sddmm &problem, const sparse::Csr &mask, const device::Device *device = nullptr) {
  return *ops::make_query(problem, sparse::statistics(mask.rows, mask.cols, mask.row_offsets, mask.column_indices),
                          {problem.n, problem.n}, device);
}

/// A config that is admitted on every device.
ops::Config random_config(const Sddmm &problem, const sparse::Csr &mask, sparse::Random &random) {
  return test::random_config(tensor_sample_family(), query_of(problem, mask), tensor_sample_values, random);
}

/// The default with some fields set to what the family admits.
ops::Config with(const Sddmm &problem, const sparse::Csr &mask, const FieldMap &fields) {
  const ops::SddmmQuery query = query_of(problem, mask);
  const ops::Config config = with_fields(tensor_sample_family(), tensor_sample_family().default_config(query), fields);
  const auto reason = tensor_sample_family().forbidden(query, config);
  REQUIRE_MESSAGE(!reason, to_text(config.to_map()), ": ", reason.value_or(""));
  return config;
}

sparse::Csr full(std::int64_t rows, std::int64_t cols) { return sparse::uniform(rows, cols, 0.0, seed); }

}  // namespace

TEST_CASE(
    "tensor_sample: every pair of type, layout, scale, multiplier, "
    "accumulation, batch, index, alignment, padding and math is right") {
  MESSAGE("seed " << seed);
  sparse::Random random(seed + 1);
  const std::vector<std::vector<int>> list = pairwise(sddmm_levels, seed);
  const std::size_t count = thread_sanitized ? 3 : list.size();
  for (std::size_t i = 0; i < count; ++i) {
    const sparse::Csr mask = uneven_mask(1 + random.below(150), 1 + random.below(150), seed + i);
    const std::int64_t n = random.below(2) == 0 ? 8 * (1 + random.below(20)) : 1 + random.below(150);
    const Sddmm problem = sddmm_problem_of(list[i], mask, n);
    if (mask.nonzeros() == 0) continue;
    const ops::Config config = random_config(problem, mask, random);
    for (const NamedDevice *on : devices_for(i))
      check_tensor_sample(*on, problem, mask, seed + i, i % 3 == 0 ? nullptr : &config);
  }
}

TEST_CASE("tensor_sample: every value of every config field is right") {
  MESSAGE("seed " << seed);
  sparse::Random random(seed + 2);
  const sparse::Csr mask = uneven_mask(200, 200, seed);
  const std::array problems = {Sddmm{.n = 130},
                               Sddmm{.n = 40},
                               Sddmm{.n = 100, .element = Dtype::f16},
                               Sddmm{.n = 130, .element = Dtype::f16},
                               Sddmm{.n = 50, .element = Dtype::bf16},
                               Sddmm{.n = 250, .math = Math::tf32}};
  CHECK(tensor_sample_family().default_config(query_of(problems[0], mask)).to_map().size() ==
        tensor_sample_values.size());
  std::size_t turn = 0;
  for (const auto &[field, values] : tensor_sample_values)
    for (const std::string &value : values) {
      std::optional<ops::Config> config;
      const Sddmm *of = nullptr;
      for (const Sddmm &problem : problems) {
        if (config) break;
        of = &problem;
        config = walk(tensor_sample_family(), query_of(problem, mask), tensor_sample_values, random, field, value);
      }
      INFO(field, " = ", value);
      REQUIRE(config);
      const std::size_t own_turn = turn++;
      if (thread_sanitized && own_turn % 12 != 0) continue;
      for (const NamedDevice *on : devices_for(own_turn)) check_tensor_sample(*on, *of, mask, seed, &*config);
    }
}

TEST_CASE(
    "tensor_sample: masks that are empty, full, of one row or column, "
    "diagonal, with repeated columns, and n from 1 are right") {
  std::vector<sparse::Csr> masks;
  masks.push_back({.rows = 0, .cols = 5, .row_offsets = {0}});
  masks.push_back({.rows = 5, .cols = 0, .row_offsets = {0, 0, 0, 0, 0, 0}});
  masks.push_back({.rows = 3, .cols = 1, .row_offsets = {0, 1, 1, 2}, .column_indices = {0, 0}});
  masks.push_back({.rows = 2, .cols = 4, .row_offsets = {0, 5, 7}, .column_indices = {1, 1, 3, 3, 3, 0, 2}});
  masks.push_back(full(1, 500));
  masks.push_back(full(300, 1));
  masks.push_back(full(65, 33));
  sparse::Csr diagonal{.rows = 300, .cols = 300};
  for (std::int32_t i = 0; i < 300; ++i) {
    diagonal.column_indices.push_back(i);
    diagonal.row_offsets.push_back(i + 1);
  }
  masks.push_back(diagonal);
  std::size_t turn = 0;
  for (const sparse::Csr &mask : masks)
    for (const std::int64_t n : {1, 5, 16, 64, 65})
      for (const NamedDevice *on : devices_for(turn++))
        check_tensor_sample(*on, {.n = n, .multiply = true}, mask, seed);
}

TEST_CASE(
    "tensor_sample: n is right at every boundary of steps, blocks, kept "
    "chunks, stages and parts, whichever way operands lie") {
  const sparse::Csr mask = uneven_mask(40, 70, seed);
  std::size_t turn = 0;
  for (const std::int64_t n : {15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257, 262, 400, 600, 2048, 4100})
    for (const char *split : {"1", "2", "4"})
      for (const char *stages : {"2", "4"}) {
        const Sddmm problem{.n = n,
                            .rhs_layout = turn % 3 == 0 ? Layout::column_major : Layout::row_major,
                            .scale = Scale::host,
                            .accumulate = true};
        const ops::Config config =
            with_fields(tensor_sample_family(), tensor_sample_family().default_config(query_of(problem, mask)),
                        {{"stages", stages},
                         {"n_split", split},
                         {"min_blocks", "1"},
                         {"tiles_per_block", "1"},
                         {"kept_blocks", "0"}});
        if (tensor_sample_family().forbidden(query_of(problem, mask), config)) continue;
        const std::size_t own_turn = turn++;
        if (thread_sanitized && own_turn % 16 != 0) continue;
        for (const NamedDevice *on : devices_for(own_turn)) check_tensor_sample(*on, problem, mask, seed, &config);
      }
  CHECK(turn > 0);
}

TEST_CASE(
    "tensor_sample: blocks go through tiles of several rows of tiles, "
    "past empty ones and past the last, while A stays or goes by") {
  sparse::Csr band{.rows = 200, .cols = 400};  // rows of tiles without nonzeros, and tiles without in others
  for (std::int64_t row = 0; row < band.rows; ++row) {
    if (row < 64 || row >= 96)
      for (std::int64_t k = row; k < std::min<std::int64_t>(band.cols, row + 150); k += 3)
        band.column_indices.push_back(static_cast<std::int32_t>(k));
    band.row_offsets.push_back(band.nonzeros());
  }
  std::size_t turn = 0;
  for (const auto &[n, kept] : {std::pair{40, "1"}, {64, "1"}, {100, "2"}, {190, "3"}, {40, "0"}, {100, "0"}})
    for (const char *tiles : {"2", "5", "100"}) {
      const std::size_t own_turn = turn++;
      if (thread_sanitized && own_turn % 6 != 0) continue;
      const Sddmm problem{.n = n, .batch = 2};
      const ops::Config config = with(problem, band,
                                      {{"row_warps", "2"},
                                       {"column_warps", "1"},
                                       {"warp_rows", "16"},
                                       {"warp_columns", "32"},
                                       {"stages", own_turn % 2 == 0 ? "2" : "4"},
                                       {"kept_blocks", kept},
                                       {"tiles_per_block", tiles},
                                       {"list_room", "64"},
                                       {"n_split", "1"},
                                       {"min_blocks", "1"}});
      for (const NamedDevice *on : devices_for(own_turn)) check_tensor_sample(*on, problem, band, seed, &config);
    }
}

TEST_CASE(
    "tensor_sample: what is not finite in A reaches its row of D alone, "
    "what is not finite in B its column alone") {
  const std::int64_t n = 70;
  sparse::Random random(seed + 3);
  for (const NamedDevice &on : tensor_devices())
    for (const Dtype element : {Dtype::f32, Dtype::bf16}) {
      const sparse::Csr mask = uneven_mask(40, 90, seed + 7);
      const Sddmm problem{.n = n, .element = element};
      tune::SddmmCase c(*on.device, problem, mask, seed);
      const ops::Config config = random_config(problem, mask, random);
      INFO(on.name, ", ", to_text(config.to_map()));
      CHECK(run_tensor_sample(on, c, mask, config).wrong.empty());
      const std::vector<float> before = c.output();
      const auto spoil = [&](const void *operand, std::int64_t row, float value) {
        const std::vector<std::byte> bits = sparse::to_storage(element, std::array{value});
        auto *const memory =
            static_cast<std::byte *>(const_cast<void *>(operand)) + (row * n + row % n) * size_of(element);
        on.device->copy_to_device(memory, bits.data(), size_of(element));
      };
      for (std::int64_t row = 3; row < mask.rows; row += 7)
        spoil(c.call().lhs, row, std::numeric_limits<float>::infinity());
      for (std::int64_t row = 2; row < mask.cols; row += 5)
        spoil(c.call().rhs, row, std::numeric_limits<float>::quiet_NaN());
      run_tensor_sample(on, c, mask, config);
      for (std::int64_t row = 0; row < mask.rows; ++row)
        for (std::int64_t i = mask.row_offsets[static_cast<std::size_t>(row)];
             i < mask.row_offsets[static_cast<std::size_t>(row) + 1]; ++i) {
          const auto at = static_cast<std::size_t>(i);
          if (row % 7 == 3 || mask.column_indices[at] % 5 == 2) REQUIRE(!std::isfinite(c.output()[at]));
          else REQUIRE(c.output()[at] == before[at]);
        }
    }
}

TEST_CASE(
    "tensor_sample: the same config gives the same bits in every thread "
    "order, also where n is in parts") {
  const sparse::Csr mask = uneven_mask(40, 300, seed);
  for (const Sddmm &problem : {Sddmm{.n = 36}, Sddmm{.n = 520, .element = Dtype::f16}, Sddmm{.n = 300}}) {
    const ops::Config config =
        with(problem, mask, {{"n_split", problem.n == 36 ? "1" : "2"}, {"kept_blocks", "0"}, {"tiles_per_block", "1"}});
    const std::vector<float> first = check_tensor_sample(tensor_devices()[0], problem, mask, seed, &config);
    for (std::size_t i = 1; i < std::min<std::size_t>(3, tensor_devices().size()); ++i)
      if (tensor_devices()[i].is_emulator())
        CHECK(check_tensor_sample(tensor_devices()[i], problem, mask, seed, &config) == first);
  }
}

TEST_CASE(
    "tensor_sample: the heads of a batch may lie side by side in A and "
    "B, row-major and column-major") {
  const sparse::Csr mask = uneven_mask(21, 34, seed);
  std::size_t turn = 0;
  for (const Layout layout : {Layout::row_major, Layout::column_major})
    for (const std::int64_t n : {16, 5}) {
      const bool row_major = layout == Layout::row_major;
      const std::int64_t lhs = row_major ? n : mask.rows;
      const std::int64_t rhs = row_major ? n : mask.cols;
      const Sddmm problem{.n = n,
                          .batch = 3,
                          .lhs_layout = layout,
                          .rhs_layout = layout,
                          .lhs_leading = 3 * lhs,
                          .rhs_leading = 3 * rhs + 1,
                          .lhs_stride = lhs,
                          .rhs_stride = rhs};
      for (const NamedDevice *on : devices_for(turn++)) check_tensor_sample(*on, problem, mask, seed);
    }
}

TEST_CASE(
    "tensor_sample: matrices may lie on the grid's second and third "
    "dimension, which may hold more than there are") {
  const sparse::Csr mask = uneven_mask(9, 30, seed);
  for (const NamedDevice &on : tensor_devices()) {
    tune::SddmmCase c(*on.device, {.n = 16, .batch = 3}, mask, seed);
    const ops::Config config = tensor_sample_family().default_config(c.query());
    const TileForms forms(*on.device, mask, tensor_sample_family().needs(c.query(), config).tiles);
    std::vector<ops::Launch> launches = tensor_sample_family().launches(c.query(), config, forms.pointers());
    REQUIRE(launches.size() == 2);
    for (ops::Launch &launch : launches) load_kernel(*on.device, launch);
    const device::Buffer workspace(*on.device, tensor_sample_family().workspace_bytes(c.query(), config));
    c.set_workspace(workspace.data());
    const auto spread = [&](Stream stream, const ops::Launch &launch) {
      alignas(16) std::array<unsigned char, ops::max_argument_bytes> args{};
      device::LaunchShape shape = launch.bind(c.arguments(), args.data());
      CHECK(shape.grid.y == 3);
      shape.grid.y = shape.grid.z = 2;
      on.device->launch(stream, *launch.kernel(), shape, args.data(), launch.argument_bytes());
    };
    const tune::Check check = c.verify([&](Stream stream) {
      for (const ops::Launch &launch : launches) spread(stream, launch);
    });
    CHECK_MESSAGE(check.wrong.empty(), check.wrong);
  }
}

TEST_CASE("tensor_sample: the output may be the multiplier") {
  const sparse::Csr mask = uneven_mask(30, 60, seed);
  for (const NamedDevice &on : tensor_devices()) {
    tune::SddmmCase c(*on.device, {.n = 16, .multiply = true}, mask, seed);
    const ops::Config config = tensor_sample_family().default_config(c.query());
    CHECK(run_tensor_sample(on, c, mask, config).wrong.empty());
    const std::vector<float> apart = c.output();

    const TileForms forms(*on.device, mask, tensor_sample_family().needs(c.query(), config).tiles);
    const device::Buffer workspace(*on.device, tensor_sample_family().workspace_bytes(c.query(), config));
    SddmmArguments in_place = c.call();
    in_place.workspace = workspace.data();
    in_place.output = const_cast<void *>(c.call().multiplier);
    for (ops::Launch &launch : tensor_sample_family().launches(c.query(), config, forms.pointers())) {
      load_kernel(*on.device, launch);
      launch.enqueue(*on.device, on.device->own_stream(), &in_place);
    }
    on.device->synchronize(on.device->own_stream());
    std::vector<float> together(apart.size());
    on.device->copy_to_host(together.data(), in_place.output,
                            static_cast<std::int64_t>(together.size() * sizeof(float)));
    CHECK(together == apart);
  }
}
