// wgmma_sample against float64 on every GPU of sm_90, simplest problems first: a first failure tells which part is
// wrong.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "device/pairwise.hpp"
#include "device/sddmm_levels.hpp"
#include "device/tensor_sample_harness.hpp"
#include "ops/families.hpp"
#include "ops/sddmm/wgmma_sample.hpp"
#include "sparse/elements.hpp"
#include "sparse/generate.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 900;

const ops::Family& family() {
  static const auto made = ops::make_wgmma_sample();
  return *made;
}

/// The GPUs that have wgmma; says once where there is none.
const std::vector<NamedDevice>& hoppers() {
  static const std::vector<NamedDevice> list = hoppers_of(family());
  return list;
}

PackedMode mode_of(Dtype element) {
  return element == Dtype::f16 ? PackedMode::f16x1 : element == Dtype::bf16 ? PackedMode::bf16x1 : PackedMode::f16x3;
}

/// The plainest config: one warpgroup, a block for each tile, two stages.
WgmmaSampleConfig plain(Dtype element, int tile_columns = 64) {
  return {.mode = mode_of(element),
          .warpgroups = 1,
          .tile_columns = tile_columns,
          .stages = 2,
          .takes_turns = false,
          .waves = 0,
          .list_room = 512};
}

void check(const Sddmm& problem, const sparse::Csr& mask, const WgmmaSampleConfig& config) {
  for (const NamedDevice& on : hoppers()) {
    const ops::Config fields = ops::Config::of(config);
    const tune::SddmmCase c(*on.device, problem, mask, seed);
    const auto reason = family().forbidden(c.query(), fields);
    CHECK_MESSAGE(!reason, to_text(fields.to_map()), ": ", reason.value_or(""));
    if (!reason) check_sampled(on, family(), problem, mask, seed, &fields);
  }
}

sparse::Csr full(std::int64_t rows, std::int64_t cols) { return sparse::uniform(rows, cols, 0.0, seed); }

/// Rows of tiles without nonzeros, and tiles without in others.
sparse::Csr band_mask() {
  sparse::Csr band{.rows = 300, .cols = 700};
  for (std::int64_t row = 0; row < band.rows; ++row) {
    if (row < 64 || row >= 130)
      for (std::int64_t k = row; k < std::min<std::int64_t>(band.cols, row + 250); k += 3)
        band.column_indices.push_back(static_cast<std::int32_t>(k));
    band.row_offsets.push_back(band.nonzeros());
  }
  return band;
}

constexpr std::array elements = {Dtype::f32, Dtype::f16, Dtype::bf16};

}  // namespace

TEST_CASE("wgmma_sample: one full tile of one n block is right, for every element and width") {
  for (const Dtype element : elements)
    for (const int columns : {32, 64, 128})
      check({.n = 64, .element = element}, full(64, columns), plain(element, columns));
}

TEST_CASE("wgmma_sample: one full tile of several n blocks is right, for every element and width") {
  for (const Dtype element : elements)
    for (const int columns : {32, 64, 128})
      for (const std::int64_t n : {128, 200, 320})
        check({.n = n, .element = element}, full(64, columns), plain(element, columns));
}

TEST_CASE("wgmma_sample: sparse tiles, rows and columns that end inside one, and lists past their room are right") {
  for (const std::int64_t n : {40, 200})
    for (const int room : {8, 64, 4096}) {
      WgmmaSampleConfig config = plain(Dtype::f32);
      config.list_room = room;
      check({.n = n}, uneven_mask(150, 200, seed), config);
      check({.n = n}, full(70, 130), config);
    }
}

TEST_CASE("wgmma_sample: two and three warpgroups, that take turns and that do not, are right") {
  for (const std::int64_t n : {64, 200})
    for (const Dtype element : elements)
      for (const int warpgroups : {2, 3})
        for (const bool turns : {false, true}) {
          WgmmaSampleConfig config = plain(element);
          config.warpgroups = warpgroups;
          config.takes_turns = turns;
          check({.n = n, .element = element}, uneven_mask(300, 200, seed), config);
        }
}

TEST_CASE("wgmma_sample: sums that stay in the tensor cores for several n blocks are right") {
  for (const Dtype element : elements)
    for (const int promotion_blocks : {2, 0, 3}) {
      if (element == Dtype::f32 && promotion_blocks != 2) continue;
      for (const std::int64_t n : {65, 128, 450})
        for (const int waves : {0, 1}) {
          WgmmaSampleConfig config = plain(element);
          config.promotion_blocks = promotion_blocks;
          config.waves = waves;
          config.stages = 3;
          config.warpgroups = 2;
          check({.n = n, .batch = 3, .element = element}, uneven_mask(300, 200, seed), config);
        }
    }
}

TEST_CASE("wgmma_sample: operands copied from where they lie are right, in every layout, with tails and in batches") {
  constexpr std::array layouts = {Layout::row_major, Layout::column_major};
  int turn = 0;
  for (const Layout lhs : layouts)
    for (const Layout rhs : layouts)
      for (const int columns : {64, 128, 256}) {
        const int warpgroups = columns == 256 ? 2 : 1 + turn % 3;
        const Dtype element = turn % 2 == 0 ? Dtype::f16 : Dtype::bf16;
        WgmmaSampleConfig config = plain(element, columns);
        config.warpgroups = warpgroups;
        config.stages = columns == 64 ? 4 : 3;
        config.tensor_copies = true;
        config.promotion_blocks = columns == 256 ? 0 : turn % 3;
        config.waves = turn / 2 % 2;
        const Sddmm problem = {.n = 200, .batch = 2, .element = element, .lhs_layout = lhs, .rhs_layout = rhs};
        check(problem, uneven_mask(264, 520, seed), config);
        config.n_split = 2;
        config.waves = 1 - config.waves;
        check(problem, full(200, 264), config);
        ++turn;
      }
}

TEST_CASE("wgmma_sample: blocks whose sums lie where operands were go on to their next tiles") {
  WgmmaSampleConfig config = plain(Dtype::bf16, 256);
  config.warpgroups = 2;
  config.stages = 4;
  config.tensor_copies = true;
  config.promotion_blocks = 0;
  config.waves = 1;
  check({.n = 328, .batch = 400, .element = Dtype::bf16}, uneven_mask(264, 1032, seed), config);
}

TEST_CASE("wgmma_sample: operands copied from where they lie may have lines and matrices apart, and few n") {
  for (const Layout layout : {Layout::row_major, Layout::column_major})
    for (const std::int64_t n : {65, 72, 1000}) {
      WgmmaSampleConfig config = plain(Dtype::f16, 128);
      config.tensor_copies = true;
      config.stages = 4;
      config.promotion_blocks = 4;
      const Sddmm problem = {.n = n,
                             .batch = 2,
                             .element = Dtype::f16,
                             .lhs_layout = layout,
                             .rhs_layout = layout,
                             .lhs_leading = 1024,
                             .rhs_leading = 1032,
                             .lhs_stride = 1024 * 1024,
                             .rhs_stride = 1024 * 1040};
      check(problem, uneven_mask(150, 200, seed), config);
    }
}

TEST_CASE("wgmma_sample: f32 operands that blocks split are right, of every tile, with tails, in parts and batches") {
  for (const auto& [warpgroups, columns] : {std::pair{1, 32}, {1, 64}, {1, 128}, {2, 32}, {2, 64}, {2, 128}, {3, 32}})
    for (const int waves : {0, 1}) {
      WgmmaSampleConfig config = plain(Dtype::f32, columns);
      config.mode = PackedMode::tf32x3;
      config.tensor_copies = true;
      config.warpgroups = warpgroups;
      config.waves = waves;
      config.stages = warpgroups + 1;
      check({.n = 132, .batch = 3}, full(64 * warpgroups, 128), config);
      check({.n = 1000, .batch = 2}, uneven_mask(264, 520, seed), config);
      check({.n = 128, .batch = 40}, band_mask(), config);
      config.n_split = 4;
      check({.n = 600,
             .batch = 2,
             .lhs_leading = 640,
             .rhs_leading = 604,
             .lhs_stride = 640 * 300,
             .rhs_stride = 604 * 140,
             .scale = Scale::host,
             .multiply = true,
             .accumulate = true},
            uneven_mask(200, 130, seed), config);
    }
}

TEST_CASE(
    "wgmma_sample: a block's share of tiles is right, over rows of tiles, more than stages hold, and behind the last "
    "with nonzeros") {
  const sparse::Csr band = band_mask();
  for (const std::int64_t n : {64, 130})
    for (const int warpgroups : {1, 2})
      for (const int stages : {2, 3})
        for (const std::int64_t batch : {1, 20, 400}) {
          WgmmaSampleConfig config = plain(Dtype::f32, 32);
          config.warpgroups = warpgroups;
          config.takes_turns = warpgroups > 1;
          config.stages = stages;
          config.waves = 1;  // the more matrices, the more tiles a block has
          check({.n = n, .batch = batch}, band, config);
        }
}

TEST_CASE(
    "wgmma_sample: a block's share of tiles is right with lists past their room, whether warpgroups take turns or "
    "not") {
  for (const std::int64_t n : {64, 130})
    for (const int warpgroups : {1, 2, 3})
      for (const bool turns : {false, true})
        for (const std::int64_t batch : {1, 400}) {
          if (turns && warpgroups == 1) continue;
          WgmmaSampleConfig config = plain(Dtype::f32, 32);
          config.warpgroups = warpgroups;
          config.takes_turns = turns;
          config.waves = 1;
          config.list_room = 64;
          check({.n = n, .batch = batch}, band_mask(), config);
        }
}

TEST_CASE("wgmma_sample: parts of n are right") {
  for (const Dtype element : elements)
    for (const int split : {2, 4}) {
      WgmmaSampleConfig config = plain(element, 32);
      config.n_split = split;
      check({.n = 600, .batch = 2, .element = element, .scale = Scale::host, .multiply = true, .accumulate = true},
            uneven_mask(100, 130, seed), config);
    }
}

TEST_CASE("wgmma_sample: the modes of tf32 are right") {
  for (const PackedMode mode : {PackedMode::f16x1, PackedMode::bf16x3, PackedMode::f16x3})
    for (const std::int64_t n : {50, 130}) {
      WgmmaSampleConfig config = plain(Dtype::f32);
      config.mode = mode;
      check({.n = n, .math = Math::tf32}, uneven_mask(100, 130, seed), config);
    }
}

TEST_CASE("wgmma_sample: every pair of what a problem may ask for is right with default and random configs") {
  MESSAGE("seed " << seed);
  sparse::Random random(seed + 1);
  const std::vector<std::vector<int>> list = pairwise(sddmm_levels, seed);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const sparse::Csr mask = uneven_mask(1 + random.below(400), 1 + random.below(400), seed + i);
    const std::int64_t n = random.below(2) == 0 ? 8 * (1 + random.below(40)) : 1 + random.below(300);
    const Sddmm problem = sddmm_problem_of(list[i], mask, n);
    if (mask.nonzeros() == 0) continue;
    for (const NamedDevice& on : hoppers()) {
      const tune::SddmmCase c(*on.device, problem, mask, seed);
      check_sampled(on, family(), problem, mask, seed + i);
      const std::vector<ops::Config> space = family().space(c.query());
      for (int tries = 0; tries < 4; ++tries) {
        const ops::Config& config =
            space[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(space.size())))];
        if (!family().forbidden(c.query(), config)) check_sampled(on, family(), problem, mask, seed + i, &config);
      }
    }
  }
}

TEST_CASE("wgmma_sample: masks that are empty, full, of one row or column, and n from 1 are right") {
  const std::vector<sparse::Csr> masks = {
      {.rows = 0, .cols = 5, .row_offsets = {0}},
      {.rows = 5, .cols = 0, .row_offsets = {0, 0, 0, 0, 0, 0}},
      {.rows = 2, .cols = 4, .row_offsets = {0, 5, 7}, .column_indices = {1, 1, 3, 3, 3, 0, 2}},
      full(1, 500),
      full(300, 1),
      full(65, 33)};
  for (const sparse::Csr& mask : masks)
    for (const std::int64_t n : {1, 5, 16, 64, 65})
      for (const NamedDevice& on : hoppers()) check_sampled(on, family(), {.n = n, .multiply = true}, mask, seed);
}

TEST_CASE(
    "wgmma_sample: what is not finite in A reaches its row of D alone, what is not finite in B its column alone") {
  const std::int64_t n = 70;
  for (const NamedDevice& on : hoppers())
    for (const Dtype element : {Dtype::f32, Dtype::bf16}) {
      const sparse::Csr mask = uneven_mask(140, 190, seed + 7);
      tune::SddmmCase c(*on.device, {.n = n, .element = element}, mask, seed);
      const ops::Config config = family().default_config(c.query());
      CHECK(run_sampled(on, family(), c, mask, config).wrong.empty());
      const std::vector<float> before = c.output();
      const auto spoil = [&](const void* operand, std::int64_t row, float value) {
        const std::vector<std::byte> bits = sparse::to_storage(element, std::array{value});
        auto* const memory =
            static_cast<std::byte*>(const_cast<void*>(operand)) + (row * n + row % n) * size_of(element);
        on.device->copy_to_device(memory, bits.data(), size_of(element));
      };
      for (std::int64_t row = 3; row < mask.rows; row += 7)
        spoil(c.call().lhs, row, std::numeric_limits<float>::infinity());
      for (std::int64_t row = 2; row < mask.cols; row += 5)
        spoil(c.call().rhs, row, std::numeric_limits<float>::quiet_NaN());
      run_sampled(on, family(), c, mask, config);
      for (std::int64_t row = 0; row < mask.rows; ++row)
        for (std::int64_t i = mask.row_offsets[static_cast<std::size_t>(row)];
             i < mask.row_offsets[static_cast<std::size_t>(row) + 1]; ++i) {
          const auto at = static_cast<std::size_t>(i);
          if (row % 7 == 3 || mask.column_indices[at] % 5 == 2) REQUIRE(!std::isfinite(c.output()[at]));
          else REQUIRE(c.output()[at] == before[at]);
        }
    }
}
