// row_tile against float64, on the emulator in several thread orders and on every GPU: every field in every value, random
// configs and shapes, the paper's edges, and what must not leak.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "device/random_configs.hpp"
#include "device/row_tile_harness.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 20201;

RowTileConfig parse(const FieldMap& map) { return codegen::from_map<RowTileConfig>(map).value(); }

/// Values to try for each field of a config; every field is named (checked below).
const FieldValues& field_values() {
  static const FieldValues values = {
      {"tile_rows", {"1", "2", "3", "4", "8", "16"}},
      {"tile_columns", {"1", "4", "8", "16", "32", "64", "128", "256"}},
      {"threads_per_row", {"1", "2", "4", "8", "16", "32"}},
      {"row_split", {"1", "2", "4", "8", "32"}},
      {"tile_nonzeros", {"4", "8", "16", "32", "64", "128", "256", "1024"}},
      {"sparse_vector", {"1", "2", "4", "8"}},
      {"dense_vector", {"1", "2", "4", "8"}},
      {"reverse_offset_alignment", {"false", "true"}},
      {"row_swizzle", {"false", "true"}},
      {"deal_rows", {"false", "true"}},
      {"prescale_indices", {"false", "true"}},
      {"residue_unroll", {"1", "2", "4", "8", "16"}},
      {"column_edge", {"predicated", "clamped", "unchecked"}},
      {"loads_in_flight", {"1", "2", "4", "8", "16"}},
      {"overlap_batches", {"false", "true"}},
      {"min_blocks", {"1", "2", "8"}},
      {"prefetch_sparse", {"false", "true"}},
      {"raster", {"rows_first", "columns_first"}},
      {"stream_output", {"false", "true"}},
      {"prepare_dense", {"false", "true"}},
      {"pack_values", {"false", "true"}},
  };
  return values;
}

std::optional<FieldMap> walk(const ops::SpmmQuery& query, sparse::Random& random, const std::string& field = {}, const std::string& value = {}) {
  return walk_configs(row_tile(), field_values(), query, random, field, value);
}

FieldMap random_config(const ops::SpmmQuery& query, sparse::Random& random) { return walk(query, random).value_or(row_tile().default_config(query)); }

Spmm random_problem(sparse::Random& random) {
  Spmm problem = random_csr_problem(random);
  problem.math = pick(random, {Math::accurate, Math::strict});
  return problem;
}

/// Columns of B in use by row `row`.
std::set<std::int32_t> columns_of(const sparse::Csr& csr, std::int64_t row) {
  return {csr.column_indices.begin() + csr.row_offsets[static_cast<std::size_t>(row)],
          csr.column_indices.begin() + csr.row_offsets[static_cast<std::size_t>(row) + 1]};
}

}  // namespace

TEST_CASE("every field of a config is tried in every value, and each gives the right product") {
  std::set<std::string> fields, tried;
  for (const auto& [field, value] : codegen::to_map(RowTileConfig{})) fields.insert(field);
  for (const auto& [field, values] : field_values()) tried.insert(field);
  REQUIRE(fields == tried);

  const Spmm problem{.n = 256, .element = Dtype::f16, .sparse_transposed = true, .dense_layout = Layout::column_major};
  const RowTileCase c = make_case(uneven_mask(300, 37, seed), problem, seed);
  for (const NamedDevice& on : kernel_devices()) {
    const ops::SpmmQuery query = c.query(*on.device);
    sparse::Random random(seed);
    std::set<std::pair<std::string, std::string>> seen;
    for (const auto& [field, values] : field_values())
      for (const std::string& value : values) {
        if (seen.contains({field, value})) continue;
        const std::optional<FieldMap> config = walk(query, random, field, value);
        INFO(field, " = ", value);
        REQUIRE(config.has_value());
        seen.insert(config->begin(), config->end());
        check_row_tile(on, c, *config);
      }
  }
}

TEST_CASE("the default config and random configs are right on random shapes, strides and alignments") {
  MESSAGE("seed " << seed);
  for (const NamedDevice& on : kernel_devices()) {
    sparse::Random random(seed);
    for (int i = 0; i < (thread_sanitized ? 5 : 12); ++i) {
      const RowTileCase c = make_case(random_matrix(random), random_problem(random), random.bits());
      const ops::SpmmQuery query = c.query(*on.device);
      REQUIRE(!row_tile().declines(query));
      REQUIRE(!row_tile().forbidden(query, row_tile().default_config(query)));
      check_row_tile(on, c, row_tile().default_config(query));
      check_row_tile(on, c, random_config(query, random));
    }
  }
}

TEST_CASE("configs of the space are right on a matrix with uneven rows") {
  MESSAGE("seed " << seed);
  const RowTileCase c = make_case(uneven_mask(70, 500, seed), {.n = 196, .epilogue = {.bias = Bias::per_row, .activation = Activation::relu}}, seed);
  for (const NamedDevice& on : kernel_devices()) {
    const ops::SpmmQuery query = c.query(*on.device);
    std::vector<FieldMap> admitted;
    for (FieldMap& config : row_tile().space(query))
      if (!row_tile().forbidden(query, config)) admitted.push_back(std::move(config));
    sparse::Random random(seed);
    for (int i = 0; i < (thread_sanitized ? 2 : 8); ++i)
      check_row_tile(on, c, admitted[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(admitted.size())))]);
  }
}

TEST_CASE("one row with everything, empty matrices, one column, K = 1 and rows of every length modulo a vector are right") {
  std::vector<sparse::Csr> matrices;
  sparse::Csr one_row{.rows = 1, .cols = 3000};
  for (std::int32_t k = 0; k < 3000; ++k) one_row.column_indices.push_back(k);
  one_row.row_offsets.push_back(3000);
  matrices.push_back(one_row);
  matrices.push_back({.rows = 5, .cols = 7, .row_offsets = {0, 0, 0, 0, 0, 0}});
  matrices.push_back({.rows = 3, .cols = 1, .row_offsets = {0, 1, 1, 2}, .column_indices = {0, 0}});
  sparse::Csr stairs{.rows = 40, .cols = 40};
  for (std::int32_t r = 0; r < 40; ++r) {
    for (std::int32_t k = 0; k < r; ++k) stairs.column_indices.push_back(k);
    stairs.row_offsets.push_back(stairs.nonzeros());
  }
  matrices.push_back(stairs);
  sparse::Csr repeats{.rows = 2, .cols = 4, .row_offsets = {0, 5, 7}, .column_indices = {3, 1, 3, 3, 0, 2, 2}};  // unsorted, with duplicates
  matrices.push_back(repeats);
  for (const NamedDevice& on : kernel_devices())
    for (const sparse::Csr& csr : matrices)
      for (const std::int64_t n : {1, 5, 64}) {
        const RowTileCase c = make_case(csr, {.n = n}, seed);
        check_row_tile(on, c, row_tile().default_config(c.query(*on.device)));
      }
}

TEST_CASE("64-bit offsets into B, and 64-bit row offsets and positions, give the same product as 32-bit ones") {
  const RowTileCase c = make_case(uneven_mask(33, 200, seed), {.n = 32}, seed);
  for (const NamedDevice& on : kernel_devices()) {
    FieldMap config = row_tile().default_config(c.query(*on.device));
    for (const char* prescale : {"true", "false"}) {
      config["prescale_indices"] = prescale;
      RowTileCase wide = c;
      wide.widen_offsets = true;
      CHECK(run_row_tile(*on.device, wide, config) == run_row_tile(*on.device, c, config));
    }
    RowTileCase wide = c;
    wide.widen_nonzeros = true;
    CHECK(run_row_tile(*on.device, wide, config) == run_row_tile(*on.device, c, config));
  }
}

TEST_CASE("values that are not finite change their own row only") {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const NamedDevice& on : kernel_devices()) {
    sparse::Random random(seed);
    for (int i = 0; i < 6; ++i) {
      RowTileCase clean = make_case(uneven_mask(40, 90, seed + static_cast<std::uint64_t>(i)), {.n = 20}, seed);
      const FieldMap config = random_config(clean.query(*on.device), random);
      RowTileCase spoilt = clean;
      std::set<std::int64_t> rows;
      for (std::int64_t r = 3; r < 40; r += 7)
        for (std::int64_t e = clean.host.walked.row_offsets[static_cast<std::size_t>(r)];
             e < clean.host.walked.row_offsets[static_cast<std::size_t>(r) + 1]; ++e) {
          spoilt.host.values[static_cast<std::size_t>(e)] = e % 2 == 0 ? NAN : infinity;
          rows.insert(r);
        }
      const std::vector<float> before = run_row_tile(*on.device, clean, config);
      const std::vector<float> after = run_row_tile(*on.device, spoilt, config);
      INFO(on.name, ", ", to_text(config));
      for (std::int64_t r = 0; r < 40; ++r)
        for (std::int64_t j = 0; j < 20; ++j) {
          const auto at = static_cast<std::size_t>(r * 20 + j);
          if (rows.contains(r)) REQUIRE(!std::isfinite(after[at]));
          else REQUIRE(after[at] == before[at]);
        }
    }
  }
}

TEST_CASE("rows of B that a row of A does not name never reach it, whatever they hold") {
  for (const NamedDevice& on : kernel_devices()) {
    sparse::Random random(seed + 1);
    for (int i = 0; i < 6; ++i) {
      RowTileCase clean = make_case(uneven_mask(40, 90, seed + 50 + static_cast<std::uint64_t>(i)), {.n = 12}, seed);
      const FieldMap config = random_config(clean.query(*on.device), random);
      RowTileCase spoilt = clean;
      for (std::int64_t k = 0; k < 90; k += 3)
        for (std::int64_t j = 0; j < 12; ++j)
          spoilt.host.dense[static_cast<std::size_t>(k * 12 + j)] = k % 2 == 0 ? NAN : std::numeric_limits<float>::infinity();
      const std::vector<float> before = run_row_tile(*on.device, clean, config);
      const std::vector<float> after = run_row_tile(*on.device, spoilt, config);
      INFO(on.name, ", ", to_text(config));
      for (std::int64_t r = 0; r < 40; ++r) {
        const std::set<std::int32_t> columns = columns_of(clean.host.walked, r);
        const bool touched = std::any_of(columns.begin(), columns.end(), [](std::int32_t k) { return k % 3 == 0; });
        for (std::int64_t j = 0; j < 12; ++j) {
          const auto at = static_cast<std::size_t>(r * 12 + j);
          if (touched) REQUIRE(!std::isfinite(after[at]));
          else REQUIRE(after[at] == before[at]);
        }
      }
    }
  }
}

TEST_CASE("the same config gives the same bits in every thread order") {
  const RowTileCase c = make_case(uneven_mask(40, 300, seed), {.n = 36}, seed);
  sparse::Random random(seed);
  const FieldMap config = random_config(c.query(*kernel_devices().front().device), random);
  const std::vector<float> first = run_row_tile(*kernel_devices()[0].device, c, config);
  for (std::size_t i = 1; i < std::min<std::size_t>(3, kernel_devices().size()); ++i)
    CHECK(run_row_tile(*kernel_devices()[i].device, c, config) == first);
}

TEST_CASE("column tiles past 65535 lie on the grid's third dimension") {
  if (thread_sanitized) {
    MESSAGE("skipped: 65,600 blocks take ThreadSanitizer hours; the other builds run them");
    return;
  }
  const RowTileCase c = make_case({.rows = 1, .cols = 2, .row_offsets = {0, 1}, .column_indices = {1}}, {.n = 65600}, seed);
  const NamedDevice& on = kernel_devices().front();
  RowTileConfig config = parse(row_tile().default_config(c.query(*on.device)));
  config.tile_columns = config.threads_per_row = config.dense_vector = 1;
  config.row_split = config.tile_nonzeros = 32;
  config.tile_rows = config.loads_in_flight = config.residue_unroll = 1;
  config.raster = Raster::rows_first;
  check_row_tile(on, c, codegen::to_map(config));
}
