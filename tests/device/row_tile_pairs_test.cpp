// row_tile on problems among which every pair of two properties occurs: types, layouts, strides, batches,
// transposition, index types, alignments and epilogues, each against float64.
#include <array>
#include <cmath>
#include <limits>
#include <ranges>

#include "config_fields.hpp"
#include "device/row_tile_harness.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 20203;

/// Of the short list, the last admitted config: it prepares operands where the default does not, and the other way
/// round.
ops::Config other_config(const ops::SpmmQuery& query) {
  const std::vector<ops::Config> list = row_tile().short_list(query);
  for (const ops::Config& config : std::views::reverse(list))
    if (!row_tile().forbidden(query, config)) return config;
  return row_tile().default_config(query);
}

const CsrSubject& subject() {
  static const CsrSubject made = row_tile_subject({});
  return made;
}

RowTileCase small_case(const Spmm& problem, std::uint64_t s) { return make_case(uneven_mask(40, 90, s), problem, s); }

}  // namespace

TEST_CASE("every pair of types, layouts, strides, batches, index types, alignments and epilogues is right") {
  check_paired_products(subject(), seed, 6, [](const ops::SpmmQuery& query, const PairedProblem& choice, std::size_t) {
    return choice.other_preparation ? other_config(query) : row_tile().default_config(query);
  });
}

TEST_CASE("sizes of zero give what the epilogue makes of nothing") {
  for (const NamedDevice& on : kernel_devices())
    for (const RowTileCase& c : products_of_nothing(seed)) {
      check_row_tile(on, c, row_tile().default_config(c.query(on.device.get())));
      check_row_tile(on, c, other_config(c.query(on.device.get())));
    }
}

TEST_CASE("a NaN passes through every activation, and infinity and overflow are what float64 says") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const NamedDevice& on : kernel_devices())
    for (const Activation activation :
         {Activation::none, Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu})
      for (const Dtype type : {Dtype::f32, Dtype::f16}) {
        RowTileCase c = small_case({.n = 8, .output = type, .epilogue = {.activation = activation}}, seed);
        std::vector<float>& values = c.host.values;
        REQUIRE(values.size() > 40);
        values[3] = NAN;
        values[30] = infinity;
        for (float& value : std::span(values).last(10)) value *= 1e5F;  // past f16
        INFO(name(activation), ", ", name(type));
        check_row_tile(on, c, row_tile().default_config(c.query(on.device.get())));
      }
}

TEST_CASE("what a product of a batch holds never reaches another") {
  for (const NamedDevice& on : kernel_devices())
    for (const bool transposed : {false, true}) {
      const RowTileCase c = three_products(transposed, seed);
      const ops::SpmmQuery query = c.query(on.device.get());
      for (const ops::Config& config : {row_tile().default_config(query), other_config(query)})
        check_products_stay_apart(subject(), on, c, config);
    }
}

TEST_CASE("batches of more tiles than the grid's second dimension holds accumulate once") {
  for (const char* raster : {"rows_first", "columns_first"})
    check_many_products(subject(), seed, [&](const NamedDevice& on, const RowTileCase& c) {
      return with_fields(row_tile(), subject().default_config(on, c), {{"raster", raster}, {"tile_rows", "1"}});
    });
}

TEST_CASE("rows past what the grid's second dimension holds accumulate once") {
  if (thread_sanitized) {
    MESSAGE("skipped: 131,072 blocks take ThreadSanitizer hours; the other builds run them");
    return;
  }
  sparse::Csr csr{.rows = 65537, .cols = 1};
  for (std::int64_t row = 0; row < csr.rows; ++row)
    csr.row_offsets.push_back(row % 5 == 0 ? csr.row_offsets.back() + 1 : csr.row_offsets.back());
  csr.column_indices.assign(static_cast<std::size_t>(csr.row_offsets.back()), 0);
  const NamedDevice& on = kernel_devices().front();
  const RowTileCase c = make_case(csr, {.n = 1, .epilogue = {.accumulate = true}}, seed);
  RowTileConfig config = row_tile().default_config(c.query(on.device.get())).as<RowTileConfig>();
  config.tile_rows = config.threads_per_row = 1;
  config.row_split = 32;
  config.tile_nonzeros = 256;
  config.raster = Raster::columns_first;
  config.deal_rows = true;
  REQUIRE(row_tile().forbidden(c.query(on.device.get()), ops::Config::of(config)).value_or("") == "");
  check_row_tile(on, c, ops::Config::of(config));
}
