// row_tile with rows in slots, long ones cut into pieces, against float64: every pair of a problem's properties, rows
// of every length to a slot's, and what must not leak or depend on the order of threads.
#include <algorithm>
#include <array>
#include <cmath>

#include "device/row_tile_harness.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 20207;

const CsrSubject& subject() {
  static const CsrSubject made = row_tile_subject({});
  return made;
}

/// The paper's config with slots of 1, 2 or 4 times the fewest entries, and as many pieces as a block has rows, half of
/// them, or none.
RowTileConfig slotted(const ops::SpmmQuery& query, std::size_t number) {
  RowTileConfig config = ops::row_tile::paper_config(query);
  config.pack_values = query.problem.sparse_transposed;
  config.residue_unroll = std::min(config.residue_unroll, 4);
  config.slot_entries =
      std::min(config.tile_nonzeros, std::max(32, config.row_split * config.residue_unroll) << number % 3);
  const bool cuts = query.problem.math != Math::strict && config.tile_columns % 4 == 0;
  config.row_pieces = cuts ? std::max(1, config.tile_rows >> number / 3 % 3) : 1;
  return config;
}

ops::Config slotted_map(const NamedDevice& on, const RowTileCase& c, std::size_t number) {
  return ops::Config::of(slotted(c.query(on.device.get()), number));
}

/// Rows of 0 to 80 entries, then one of 3000 and one of 700.
sparse::Csr stairs_and_long_rows() {
  sparse::Csr csr{.rows = 83, .cols = 3000};
  for (std::int32_t row = 0; row < csr.rows; ++row) {
    const std::int32_t length = row <= 80 ? row : row == 81 ? 3000 : 700;
    for (std::int32_t k = 0; k < length; ++k) csr.column_indices.push_back(3000 / length * k);
    csr.row_offsets.push_back(csr.nonzeros());
  }
  return csr;
}

}  // namespace

TEST_CASE(
    "slots: every pair of types, layouts, strides, batches, index types, alignments and epilogues is right, rows cut") {
  check_paired_products(subject(), seed, 6, [](const ops::SpmmQuery& query, const PairedProblem&, std::size_t i) {
    return ops::Config::of(slotted(query, i));
  });
}

TEST_CASE("slots: rows of every length are right whatever a slot holds and however many pieces a row has") {
  const RowTileCase c =
      make_case(stairs_and_long_rows(), {.n = 36, .epilogue = {.bias = Bias::per_row, .accumulate = true}}, seed);
  for (const NamedDevice& on : devices_of_turn(kernel_devices(), 0))
    for (const int entries : {32, 64, 128})
      for (const int pieces : {1, 2, 8, 16}) {
        RowTileConfig config = ops::row_tile::paper_config(c.query(on.device.get()));
        config.tile_rows = 16;
        config.min_blocks = 1;
        config.slot_entries = entries;
        config.row_pieces = pieces;
        config.raster = pieces == 2 ? Raster::rows_first : Raster::columns_first;
        REQUIRE(row_tile().forbidden(c.query(on.device.get()), ops::Config::of(config)).value_or("") == "");
        check_row_tile(on, c, ops::Config::of(config));
      }
}

TEST_CASE("slots: 64-bit offsets into B, and 64-bit positions, give the same bits as 32-bit ones") {
  const RowTileCase c = make_case(uneven_mask(33, 200, seed), {.n = 32}, seed);
  for (const NamedDevice& on : kernel_devices()) {
    const ops::Config config = slotted_map(on, c, 0);
    RowTileCase wide = c;
    wide.widen_offsets = true;
    CHECK(run_row_tile(*on.device, wide, config) == run_row_tile(*on.device, c, config));
    wide.widen_offsets = false;
    wide.widen_nonzeros = true;
    CHECK(run_row_tile(*on.device, wide, config) == run_row_tile(*on.device, c, config));
  }
}

TEST_CASE("slots: what is not finite in A stays in its row, and in B where it is used") {
  check_leaks(subject(), seed, 4, [](const NamedDevice& on, const RowTileCase& c, sparse::Random&, int i) {
    return slotted_map(on, c, static_cast<std::size_t>(i));
  });
}

TEST_CASE("slots: what a product of a batch holds never reaches another") {
  for (const NamedDevice& on : kernel_devices())
    for (const bool transposed : {false, true}) {
      const RowTileCase c = three_products(transposed, seed);
      check_products_stay_apart(subject(), on, c, slotted_map(on, c, 0));
    }
}

TEST_CASE("slots: the same config gives the same bits in every thread order, also where rows are cut") {
  const RowTileCase c = make_case(uneven_mask(40, 300, seed), {.n = 36}, seed);
  for (const std::size_t number : {0, 4})
    check_every_order(subject(), c, slotted_map(kernel_devices().front(), c, number));
}

TEST_CASE("slots: long sums of one sign keep the accuracy of blocked sums") {
  // Plain sums of so many products would err by 1e-6 and more.
  const std::int32_t length = thread_sanitized ? 5000 : 100000;
  sparse::Csr csr{.rows = 1, .cols = length, .row_offsets = {0, length}};
  for (std::int32_t k = 0; k < length; ++k) csr.column_indices.push_back(k);
  RowTileCase c = make_case(csr, {.n = 8}, seed);
  for (auto* operand : {&c.host.values, &c.host.dense})
    for (float& value : *operand) value = std::fabs(value);
  const std::vector<std::int64_t> columns = {0, 1, 2, 3, 4, 5, 6, 7};
  const std::vector<double> reference = c.host.reference(0, columns);
  for (const NamedDevice& on : kernel_devices())
    for (const std::size_t number : {0, 4}) {
      const std::vector<float> output = run_row_tile(*on.device, c, slotted_map(on, c, number));
      INFO(on.name, ", config ", number);
      for (std::size_t i = 0; i < 8; ++i) CHECK(std::fabs(output[i] - reference[i]) <= 3e-7 * reference[i]);
    }
}
