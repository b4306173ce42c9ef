// staged_rows against float64, on the emulator in several thread orders and on every GPU: every field in every value,
// random configs and shapes, panels and slices of every small size, and what must not leak.
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "config_fields.hpp"
#include "device/csr_trials.hpp"
#include "ops/families.hpp"
#include "ops/spmm/staged_rows.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 20211;

const ops::Family& family() {
  static const std::unique_ptr<ops::Family> made = ops::make_staged_rows();
  return *made;
}

/// Values to try for each field of a config; every field is named (checked below).
const FieldValues& field_values() {
  static const FieldValues values = {
      {"panel_rows", {"8", "32", "61", "64", "128", "256", "512", "1500"}},
      {"tile_columns", {"1", "4", "8", "16", "32", "64", "128", "256"}},
      {"threads_per_row", {"1", "2", "4", "8", "16", "32"}},
      {"dense_vector", {"1", "2", "4", "8"}},
      {"warps", {"1", "2", "3", "4", "8", "16"}},
      {"rows_per_lane", {"1", "2", "3", "4", "8"}},
      {"row_rounds", {"1", "2", "5"}},
      {"stages", {"1", "2", "3", "4"}},
      {"tile_nonzeros", {"2", "4", "6", "16", "32", "64"}},
      {"loads_in_flight", {"1", "2", "4", "8", "16"}},
      {"filled_entries", {"1", "2", "4", "8"}},
      {"k_split", {"1", "2", "3", "4"}},
      {"row_swizzle", {"false", "true"}},
      {"min_blocks", {"1", "2", "4"}},
      {"prepare_dense", {"false", "true"}},
      {"pack_values", {"false", "true"}},
      {"column_edge", {"clamped", "unchecked"}},
      {"raster", {"rows_first", "columns_first"}},
      {"stream_output", {"false", "true"}},
  };
  return values;
}

const CsrSubject& subject() {
  static const CsrSubject made{
      .family = family(),
      .devices = kernel_devices(),
      .values = field_values(),
      .run = [](const NamedDevice& on, const SpmmProduct& c,
                const ops::Config& config) { return run_product(family(), *on.device, c, config); },
      .check = [](const NamedDevice& on, const SpmmProduct& c,
                  const ops::Config& config) { check_product(family(), on, c, config); }};
  return made;
}

/// The default config with panels so small that there are many, few rows a block, and k cut.
ops::Config with_panels(const ops::SpmmQuery& query, ops::Config config, int panel_rows, int k_split) {
  auto parsed = config.as<StagedRowsConfig>();
  parsed.panel_rows = panel_rows;
  parsed.warps = std::max(2, parsed.tile_columns / parsed.dense_vector / 32);
  parsed.rows_per_lane = std::min(2, parsed.rows_per_lane);
  parsed.stages = 3;
  parsed.min_blocks = 1;
  parsed.k_split = 1;
  parsed.row_rounds = 1;
  if (query.problem.math != Math::strict)
    parsed.k_split = static_cast<int>(
        std::clamp<std::int64_t>(k_split, 1, std::max<std::int64_t>(1, ops::staged_rows::panels(query, parsed))));
  config = ops::Config::of(parsed);
  REQUIRE(family().forbidden(query, config).value_or("") == "");
  return config;
}

ops::Config with_panels(const ops::SpmmQuery& query, int panel_rows, int k_split) {
  return with_panels(query, family().default_config(query), panel_rows, k_split);
}

/// Whose rows are filled up in pairs.
ops::Config filled(const ops::Config& config) { return with_fields(family(), config, {{"filled_entries", "2"}}); }

/// The default config with a B that stays for some tiles of rows.
StagedRowsConfig staying(const ops::SpmmQuery& query, int row_rounds) {
  auto config =
      with_panels(query, static_cast<int>(round_up(query.statistics.cols, std::int64_t{4})), 1).as<StagedRowsConfig>();
  config.stages = 1;
  config.row_rounds = row_rounds;
  return config;
}

}  // namespace

TEST_CASE("staged_rows: every field of a config is tried in every value, and each gives the right product") {
  require_every_field<StagedRowsConfig>(field_values());
  const Spmm transposed{
      .n = 256, .element = Dtype::f16, .sparse_transposed = true, .dense_layout = Layout::column_major};
  const Spmm row_major{.n = 64, .epilogue = {.bias = Bias::per_row}};
  const std::vector<SpmmProduct> cases = {make_product(uneven_mask(280, 37, seed), transposed, seed),
                                          make_product(uneven_mask(37, 280, seed), row_major, seed)};
  // The second is for B as the call has it.
  check_every_value(subject(), cases, seed,
                    [&](const SpmmProduct& c, const std::string& field, const std::string& value) {
                      return (&c == &cases.back()) == (field == "prepare_dense" && value == "false");
                    });
}

TEST_CASE("staged_rows: the default config and random configs are right on random shapes, strides and alignments") {
  check_random_products(subject(), seed, thread_sanitized ? 4 : 8, random_csr_problem);
}

TEST_CASE("staged_rows: panels and slices of every small size are right, the epilogue applied once to each row") {
  const Epilogue everything{.bias = Bias::per_row,
                            .residual = true,
                            .activation = Activation::silu,
                            .scale = Scale::host,
                            .accumulate = true};
  for (const NamedDevice& on : kernel_devices()) {
    const SpmmProduct c = make_product(uneven_mask(50, 147, seed), {.n = 20, .epilogue = everything}, seed);
    const ops::SpmmQuery query = c.query(on.device.get());
    for (const int panel_rows : {4, 16, 64, 148, 256})
      for (const int k_split : {1, 3}) {
        check_product(family(), on, c, with_panels(query, panel_rows, k_split));
        check_product(family(), on, c, filled(with_panels(query, panel_rows, k_split)));
      }
  }
}

TEST_CASE(
    "staged_rows: where B stays, rows of all rounds are right, the last ones too, and strict ones the same bits") {
  const Epilogue everything{.bias = Bias::per_row,
                            .residual = true,
                            .activation = Activation::gelu,
                            .scale = Scale::host,
                            .accumulate = true};
  for (const NamedDevice& on : kernel_devices()) {
    for (const Math math : {Math::strict, Math::accurate}) {
      const SpmmProduct c =
          make_product(uneven_mask(93, 50, seed), {.n = 70, .batch = 2, .math = math, .epilogue = everything}, seed);
      const ops::SpmmQuery query = c.query(on.device.get());
      const StagedRowsConfig once = staying(query, 1);
      const std::vector<float> whole = run_product(family(), *on.device, c, ops::Config::of(once));
      for (const int row_rounds : {2, 3, 64})
        for (const int rows_per_lane : {1, 2, 3, 4}) {
          StagedRowsConfig rounds = once;
          rounds.row_rounds = row_rounds;
          rounds.rows_per_lane = rows_per_lane;
          rounds.row_swizzle = rows_per_lane > 1;
          rounds.tile_nonzeros = rows_per_lane == 4 ? 4 : once.tile_nonzeros;  // rows of several times as many entries
          rounds.filled_entries = rows_per_lane == 3 ? 1 : rows_per_lane;
          CAPTURE(row_rounds);
          CAPTURE(rows_per_lane);
          check_product(family(), on, c, ops::Config::of(rounds));
          if (math == Math::strict) CHECK(run_product(family(), *on.device, c, ops::Config::of(rounds)) == whole);
        }
    }
  }
}

TEST_CASE(
    "staged_rows: every pair of types, layouts, strides, batches, index types, alignments and epilogues is right") {
  check_paired_products(
      subject(), seed, 2, [](const ops::SpmmQuery& query, const PairedProblem& choice, std::size_t i) {
        const ops::Config config = prepared_as(family(), query, choice);
        return i % 3 == 0 && !thread_sanitized ? config : with_panels(query, config, 16, static_cast<int>(1 + i % 2));
      });
}

TEST_CASE("staged_rows: sizes of zero give what the epilogue makes of nothing") {
  for (const NamedDevice& on : kernel_devices())
    for (const SpmmProduct& c : products_of_nothing(seed))
      check_product(family(), on, c, subject().default_config(on, c));
}

TEST_CASE(
    "staged_rows: the same config gives the same bits in every thread order, also where k is cut, and strict ones "
    "those of one sum") {
  const SpmmProduct c = make_product(uneven_mask(70, 300, seed), {.n = 36}, seed);
  const ops::SpmmQuery query = c.query(kernel_devices().front().device.get());
  for (const int k_split : {1, 3}) check_every_order(subject(), c, with_panels(query, 32, k_split));
  check_every_order(subject(), c, filled(ops::Config::of(staying(query, 2))));
  const SpmmProduct strict = make_product(uneven_mask(70, 300, seed), {.n = 36, .math = Math::strict}, seed);
  const ops::SpmmQuery strict_query = strict.query(kernel_devices().front().device.get());
  const std::vector<float> whole =
      run_product(family(), *kernel_devices()[0].device, strict, with_panels(strict_query, 256, 1));
  const ops::Config panels = with_panels(strict_query, 16, 1);
  CHECK(run_product(family(), *kernel_devices()[0].device, strict, panels) == whole);
  CHECK(run_product(family(), *kernel_devices()[0].device, strict, filled(panels)) == whole);
}

TEST_CASE("staged_rows: long sums of one sign keep the accuracy of blocked sums") {
  // Plain sums of so many products would err by 1e-6 and more.
  const std::int64_t length = thread_sanitized ? 3000 : 40000;
  sparse::Csr csr{.rows = 2, .cols = length};
  for (std::int64_t row = 0; row < 2; ++row) {
    for (std::int64_t column = row; column < length; column += row + 1)
      csr.column_indices.push_back(static_cast<std::int32_t>(column));
    csr.row_offsets.push_back(csr.nonzeros());
  }
  SpmmProduct c = make_product(csr, {.n = 4}, seed);
  for (float& value : c.host.values) value = std::fabs(value);
  for (float& value : c.host.dense) value = std::fabs(value);
  const std::vector<std::int64_t> columns = {0, 1, 2, 3};
  const std::vector<double> reference = c.host.reference(0, columns);
  for (const NamedDevice& on : kernel_devices()) {
    const ops::SpmmQuery query = c.query(on.device.get());
    for (const int panel_rows : {64, 256, 1000}) {
      const std::vector<float> output = run_product(family(), *on.device, c, with_panels(query, panel_rows, 2));
      INFO(on.name, ", panels of ", panel_rows);
      const double tolerance = panel_rows > 64 ? 3e-7 : 6e-7;  // smaller panels are more blocks
      for (std::size_t i = 0; i < output.size(); ++i)
        CHECK(std::fabs(output[i] - reference[i]) <= tolerance * reference[i]);
    }
  }
}

TEST_CASE("staged_rows: rows that name columns more than once are right, however many products of a panel they have") {
  sparse::Csr csr{.rows = 3, .cols = 70};
  for (std::int64_t row = 0; row < 3; ++row) {
    for (std::int32_t column = 0; column < 70; ++column)
      csr.column_indices.insert(csr.column_indices.end(), (column + row) % 3 == 0 ? 30 : 0, column);
    csr.row_offsets.push_back(csr.nonzeros());
  }
  const SpmmProduct c = make_product(csr, {.n = 24}, seed);
  REQUIRE(c.statistics().duplicates);
  for (const NamedDevice& on : kernel_devices()) {
    const ops::SpmmQuery query = c.query(on.device.get());
    check_product(family(), on, c, family().default_config(query));
    check_product(family(), on, c, with_panels(query, 16, 2));
  }
}

TEST_CASE("staged_rows: what is not finite in A stays in its row, and in B where it is used") {
  check_leaks(subject(), seed, 6, [](const NamedDevice& on, const SpmmProduct& c, sparse::Random& random, int i) {
    const ops::SpmmQuery query = c.query(on.device.get());
    if (i % 3 == 0) return subject().random_config(on, c, random);
    return filled(i % 3 == 1 ? with_panels(query, 16, 2) : ops::Config::of(staying(query, 2)));
  });
}

TEST_CASE("staged_rows: what a product of a batch holds never reaches another, also where k is cut") {
  for (const NamedDevice& on : kernel_devices())
    for (const bool transposed : {false, true}) {
      const SpmmProduct c = three_products(transposed, seed);
      check_products_stay_apart(subject(), on, c, with_panels(c.query(on.device.get()), 16, 2));
    }
}

TEST_CASE("staged_rows: batches of more tiles than the grid's second dimension holds accumulate once") {
  check_many_products(subject(), seed, [](const NamedDevice& on, const SpmmProduct& c) {
    return with_fields(family(), with_panels(c.query(on.device.get()), 16, 1), {{"warps", "1"}});
  });
}
