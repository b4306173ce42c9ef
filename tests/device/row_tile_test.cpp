// row_tile against float64, on the emulator in several thread orders and on every GPU: every field in every value,
// random configs and shapes, the paper's edges, and what must not leak.
#include <cmath>

#include "device/row_tile_harness.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 20201;

RowTileConfig parse(const ops::Config& map) { return map.as<RowTileConfig>(); }

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
      {"slot_entries", {"0", "32", "64", "128"}},
      {"row_pieces", {"1", "2", "4", "16"}},
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

const CsrSubject& subject() {
  static const CsrSubject made = row_tile_subject(field_values());
  return made;
}

Spmm random_problem(sparse::Random& random) {
  Spmm problem = random_csr_problem(random);
  problem.math = pick(random, {Math::accurate, Math::strict});
  return problem;
}

}  // namespace

TEST_CASE("every field of a config is tried in every value, and each gives the right product") {
  require_every_field<RowTileConfig>(field_values());
  const Spmm problem{.n = 256, .element = Dtype::f16, .sparse_transposed = true, .dense_layout = Layout::column_major};
  check_every_value(subject(), std::vector{make_case(uneven_mask(300, 37, seed), problem, seed)}, seed);
}

TEST_CASE("the default config and random configs are right on random shapes, strides and alignments") {
  check_random_products(subject(), seed, thread_sanitized ? 5 : 12, random_problem);
}

TEST_CASE("configs of the space are right on a matrix with uneven rows") {
  MESSAGE("seed " << seed);
  const RowTileCase c =
      make_case(uneven_mask(70, 500, seed),
                {.n = 196, .epilogue = {.bias = Bias::per_row, .activation = Activation::relu}}, seed);
  for (const NamedDevice& on : kernel_devices()) {
    sparse::Random random(seed);
    for (int i = 0; i < (thread_sanitized ? 2 : 8); ++i) check_row_tile(on, c, subject().space_config(on, c, random));
  }
}

TEST_CASE(
    "one row with everything, empty matrices, one column, K = 1 and rows of every length modulo a vector are right") {
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
  const sparse::Csr repeats{.rows = 2,
                            .cols = 4,
                            .row_offsets = {0, 5, 7},
                            .column_indices = {3, 1, 3, 3, 0, 2, 2}};  // unsorted, with duplicates
  matrices.push_back(repeats);
  for (const NamedDevice& on : kernel_devices())
    for (const sparse::Csr& csr : matrices)
      for (const std::int64_t n : {1, 5, 64}) {
        const RowTileCase c = make_case(csr, {.n = n}, seed);
        check_row_tile(on, c, row_tile().default_config(c.query(on.device.get())));
      }
}

TEST_CASE("rows side by side are right where B and C are column-major: no nonzeros, a few, and uneven rows") {
  const sparse::Csr empty{.rows = 200, .cols = 70, .row_offsets = std::vector<std::int64_t>(201)};
  for (const NamedDevice& on : kernel_devices())
    for (const sparse::Csr& csr : {empty, sparse::uniform(200, 70, 0.999, seed, 0), uneven_mask(130, 300, seed)})
      for (const std::int64_t n : {5, 64, 304}) {
        const Spmm problem{.n = n,
                           .element = Dtype::f16,
                           .dense_layout = Layout::column_major,
                           .output_layout = Layout::column_major,
                           .epilogue = {.bias = Bias::per_row}};
        const RowTileCase c = make_case(csr, problem, seed);
        int found = 0;
        for (const ops::Config& config : row_tile().short_list(c.query(on.device.get()))) {
          const RowTileConfig parsed = parse(config);
          if (lanes_per_row(parsed) > 1 || row_tile().forbidden(c.query(on.device.get()), config)) continue;
          check_row_tile(on, c, config);
          ++found;
        }
        CHECK(found >= 1);
      }
}

TEST_CASE("64-bit offsets into B, and 64-bit row offsets and positions, give the same product as 32-bit ones") {
  const RowTileCase c = make_case(uneven_mask(33, 200, seed), {.n = 32}, seed);
  for (const NamedDevice& on : kernel_devices()) {
    RowTileConfig own = ops::row_tile::default_config(c.query(on.device.get()));
    for (const bool prescale : {true, false}) {
      own.prescale_indices = prescale;
      const ops::Config config = ops::Config::of(own);
      RowTileCase wide = c;
      wide.widen_offsets = true;
      CHECK(run_row_tile(*on.device, wide, config) == run_row_tile(*on.device, c, config));
    }
    RowTileCase wide = c;
    wide.widen_nonzeros = true;
    const ops::Config config = ops::Config::of(own);
    CHECK(run_row_tile(*on.device, wide, config) == run_row_tile(*on.device, c, config));
  }
}

TEST_CASE("what is not finite in A stays in its row, and in B where it is used") {
  check_leaks(subject(), seed, 6, [](const NamedDevice& on, const RowTileCase& c, sparse::Random& random, int) {
    return subject().random_config(on, c, random);
  });
}

TEST_CASE("the same config gives the same bits in every thread order") {
  const RowTileCase c = make_case(uneven_mask(40, 300, seed), {.n = 36}, seed);
  sparse::Random random(seed);
  check_every_order(subject(), c, subject().random_config(kernel_devices().front(), c, random));
}

TEST_CASE("column tiles past 65535 lie on the grid's third dimension") {
  if (thread_sanitized) {
    MESSAGE("skipped: 65,600 blocks take ThreadSanitizer hours; the other builds run them");
    return;
  }
  const RowTileCase c =
      make_case({.rows = 1, .cols = 2, .row_offsets = {0, 1}, .column_indices = {1}}, {.n = 65600}, seed);
  const NamedDevice& on = kernel_devices().front();
  RowTileConfig config = parse(row_tile().default_config(c.query(on.device.get())));
  config.tile_columns = config.threads_per_row = config.dense_vector = 1;
  config.row_split = config.tile_nonzeros = 32;
  config.tile_rows = config.loads_in_flight = config.residue_unroll = 1;
  config.raster = Raster::rows_first;
  check_row_tile(on, c, ops::Config::of(config));
}
