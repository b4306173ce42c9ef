// staged_rows against float64, on the emulator in several thread orders and on every GPU: every field in every value, random
// configs and shapes, panels and slices of every small size, and what must not leak.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "device/csr_product_harness.hpp"
#include "device/random_configs.hpp"
#include "device/spmm_pairs.hpp"
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
      {"panel_rows", {"8", "32", "61", "64", "128", "256", "512"}},
      {"tile_columns", {"1", "4", "8", "16", "32", "64", "128", "256"}},
      {"threads_per_row", {"1", "2", "4", "8", "16", "32"}},
      {"dense_vector", {"1", "2", "4", "8"}},
      {"warps", {"1", "2", "3", "4", "8", "16"}},
      {"rows_per_lane", {"1", "2", "3", "4", "8"}},
      {"stages", {"1", "2", "3", "4"}},
      {"tile_nonzeros", {"2", "4", "6", "16", "32", "64"}},
      {"loads_in_flight", {"1", "2", "4", "8", "16"}},
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

FieldMap random_config(const ops::SpmmQuery& query, sparse::Random& random) {
  return walk_configs(family(), field_values(), query, random).value_or(family().default_config(query));
}

/// The default config with panels so small that there are many, few rows a block, and k cut.
FieldMap with_panels(const ops::SpmmQuery& query, FieldMap config, int panel_rows, int k_split) {
  StagedRowsConfig parsed = codegen::from_map<StagedRowsConfig>(config).value();
  parsed.panel_rows = panel_rows;
  parsed.warps = std::max(2, parsed.tile_columns / parsed.dense_vector / 32);
  parsed.rows_per_lane = std::min(2, parsed.rows_per_lane);
  parsed.stages = 3;
  parsed.min_blocks = 1;
  parsed.k_split = 1;
  if (query.problem.math != Math::strict)
    parsed.k_split = static_cast<int>(std::clamp<std::int64_t>(k_split, 1, std::max<std::int64_t>(1, ops::staged_rows::panels(query, parsed))));
  config = codegen::to_map(parsed);
  REQUIRE(family().forbidden(query, config).value_or("") == "");
  return config;
}

FieldMap with_panels(const ops::SpmmQuery& query, int panel_rows, int k_split) {
  return with_panels(query, family().default_config(query), panel_rows, k_split);
}

}  // namespace

TEST_CASE("staged_rows: every field of a config is tried in every value, and each gives the right product") {
  std::set<std::string> fields, tried;
  for (const auto& [field, value] : codegen::to_map(StagedRowsConfig{})) fields.insert(field);
  for (const auto& [field, values] : field_values()) tried.insert(field);
  REQUIRE(fields == tried);

  const Spmm problem{.n = 256, .element = Dtype::f16, .sparse_transposed = true, .dense_layout = Layout::column_major};
  const Spmm row_major{.n = 64, .epilogue = {.bias = Bias::per_row}};
  const SpmmProduct transposed = make_product(uneven_mask(280, 37, seed), problem, seed);
  const SpmmProduct plain = make_product(uneven_mask(37, 280, seed), row_major, seed);
  for (const NamedDevice& on : kernel_devices()) {
    if (on.is_emulator() && &on != &kernel_devices().front()) continue;  // other thread orders have cases of their own
    sparse::Random random(seed);
    std::set<std::pair<std::string, std::string>> seen;
    for (const auto& [field, values] : field_values())
      for (const std::string& value : values) {
        if (seen.contains({field, value})) continue;
        const SpmmProduct& c = field == "prepare_dense" && value == "false" ? plain : transposed;
        const std::optional<FieldMap> config = walk_configs(family(), field_values(), c.query(*on.device), random, field, value);
        INFO(field, " = ", value);
        REQUIRE(config.has_value());
        seen.insert(config->begin(), config->end());
        check_product(family(), on, c, *config);
      }
  }
}

TEST_CASE("staged_rows: the default config and random configs are right on random shapes, strides and alignments") {
  MESSAGE("seed " << seed);
  for (const NamedDevice& on : kernel_devices()) {
    sparse::Random random(seed);
    for (int i = 0; i < (thread_sanitized ? 4 : 8); ++i) {
      const SpmmProduct c = make_product(random_matrix(random), random_csr_problem(random), random.bits());
      const ops::SpmmQuery query = c.query(*on.device);
      REQUIRE(family().declines(query).value_or("") == "");
      check_product(family(), on, c, family().default_config(query));
      check_product(family(), on, c, random_config(query, random));
    }
  }
}

TEST_CASE("staged_rows: panels and slices of every small size are right, the epilogue applied once to each row") {
  const Epilogue everything{.bias = Bias::per_row, .residual = true, .activation = Activation::silu, .scale = Scale::host, .accumulate = true};
  for (const NamedDevice& on : kernel_devices()) {
    const SpmmProduct c = make_product(uneven_mask(50, 147, seed), {.n = 20, .epilogue = everything}, seed);
    const ops::SpmmQuery query = c.query(*on.device);
    for (const int panel_rows : {4, 16, 64, 148, 256})
      for (const int k_split : {1, 3}) check_product(family(), on, c, with_panels(query, panel_rows, k_split));
  }
}

TEST_CASE("staged_rows: every pair of types, layouts, strides, batches, index types, alignments and epilogues is right") {
  MESSAGE("seed " << seed);
  std::vector<PairedProblem> problems = spmm_pairs(seed);
  if (thread_sanitized) {
    MESSAGE("skipped: all but 2 of " << problems.size() << " problems, which take ThreadSanitizer too long");
    problems.resize(2);
  }
  for (const NamedDevice& on : kernel_devices()) {
    const std::size_t step = on.is_emulator() && &on != &kernel_devices().front() ? 2 : 1;  // other thread orders take every other one
    for (std::size_t i = 0; i < problems.size(); i += step) {
      const PairedProblem& choice = problems[i];
      const SpmmProduct c = make_product(choice.csr, choice.problem, seed + i);
      const ops::SpmmQuery query = c.query(*on.device);
      REQUIRE(family().declines(query).value_or("") == "");
      FieldMap config = family().default_config(query);
      if (choice.other_preparation)
        for (const FieldMap& listed : family().space(query))
          if (!family().forbidden(query, listed)) config = listed;
      check_product(family(), on, c, i % 3 == 0 && !thread_sanitized ? config : with_panels(query, config, 16, static_cast<int>(1 + i % 2)));
    }
  }
}

TEST_CASE("staged_rows: sizes of zero give what the epilogue makes of nothing") {
  const Epilogue everything{.bias = Bias::per_column, .residual = true, .activation = Activation::silu, .scale = Scale::device, .accumulate = true};
  const std::vector<sparse::Csr> matrices = {{.rows = 3, .cols = 0, .row_offsets = {0, 0, 0, 0}},
                                             {.rows = 0, .cols = 3},
                                             {.rows = 2, .cols = 5, .row_offsets = {0, 0, 0}},
                                             {.rows = 0, .cols = 0}};
  for (const NamedDevice& on : kernel_devices())
    for (const sparse::Csr& csr : matrices)
      for (const bool transposed : {false, true}) {
        Spmm problem{.n = 5, .batch = 2, .element = Dtype::f16, .sparse_transposed = transposed, .dense_layout = Layout::column_major};
        problem.epilogue = everything;
        const SpmmProduct c = make_product(csr, problem, seed);
        check_product(family(), on, c, family().default_config(c.query(*on.device)));
      }
}

TEST_CASE("staged_rows: the same config gives the same bits in every thread order, also where k is cut, and strict ones those of one sum") {
  const SpmmProduct c = make_product(uneven_mask(70, 300, seed), {.n = 36}, seed);
  const ops::SpmmQuery query = c.query(*kernel_devices().front().device);
  for (const int k_split : {1, 3}) {
    const FieldMap config = with_panels(query, 32, k_split);
    const std::vector<float> first = run_product(family(), *kernel_devices()[0].device, c, config);
    for (std::size_t i = 1; i < std::min<std::size_t>(3, kernel_devices().size()); ++i)
      CHECK(run_product(family(), *kernel_devices()[i].device, c, config) == first);
  }
  const SpmmProduct strict = make_product(uneven_mask(70, 300, seed), {.n = 36, .math = Math::strict}, seed);
  const ops::SpmmQuery strict_query = strict.query(*kernel_devices().front().device);
  const std::vector<float> whole = run_product(family(), *kernel_devices()[0].device, strict, with_panels(strict_query, 256, 1));
  CHECK(run_product(family(), *kernel_devices()[0].device, strict, with_panels(strict_query, 16, 1)) == whole);
}

TEST_CASE("staged_rows: long sums of one sign keep the accuracy of blocked sums") {
  // Plain sums of so many products would err by 1e-6 and more.
  const std::int64_t length = thread_sanitized ? 3000 : 40000;
  sparse::Csr csr{.rows = 2, .cols = length};
  for (std::int64_t row = 0; row < 2; ++row) {
    for (std::int64_t column = row; column < length; column += row + 1) csr.column_indices.push_back(static_cast<std::int32_t>(column));
    csr.row_offsets.push_back(csr.nonzeros());
  }
  SpmmProduct c = make_product(csr, {.n = 4}, seed);
  for (float& value : c.host.values) value = std::fabs(value);
  for (float& value : c.host.dense) value = std::fabs(value);
  const std::vector<std::int64_t> columns = {0, 1, 2, 3};
  const std::vector<double> reference = c.host.reference(0, columns);
  for (const NamedDevice& on : kernel_devices()) {
    const ops::SpmmQuery query = c.query(*on.device);
    for (const int panel_rows : {64, 256, 1000}) {
      const std::vector<float> output = run_product(family(), *on.device, c, with_panels(query, panel_rows, 2));
      INFO(on.name, ", panels of ", panel_rows);
      const double tolerance = panel_rows > 64 ? 3e-7 : 6e-7;  // smaller panels are more blocks
      for (std::size_t i = 0; i < output.size(); ++i) CHECK(std::fabs(output[i] - reference[i]) <= tolerance * reference[i]);
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
    const ops::SpmmQuery query = c.query(*on.device);
    check_product(family(), on, c, family().default_config(query));
    check_product(family(), on, c, with_panels(query, 16, 2));
  }
}

TEST_CASE("staged_rows: values that are not finite change their own row only") {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const NamedDevice& on : kernel_devices()) {
    sparse::Random random(seed);
    for (int i = 0; i < 4; ++i) {
      SpmmProduct clean = make_product(uneven_mask(40, 90, seed + static_cast<std::uint64_t>(i)), {.n = 20}, seed);
      const ops::SpmmQuery query = clean.query(*on.device);
      const FieldMap config = i % 2 == 0 ? random_config(query, random) : with_panels(query, 16, 2);
      SpmmProduct spoilt = clean;
      std::set<std::int64_t> rows;
      for (std::int64_t r = 3; r < 40; r += 7)
        for (std::int64_t e = clean.host.walked.row_offsets[static_cast<std::size_t>(r)];
             e < clean.host.walked.row_offsets[static_cast<std::size_t>(r) + 1]; ++e) {
          spoilt.host.values[static_cast<std::size_t>(e)] = e % 2 == 0 ? NAN : infinity;
          rows.insert(r);
        }
      const std::vector<float> before = run_product(family(), *on.device, clean, config);
      const std::vector<float> after = run_product(family(), *on.device, spoilt, config);
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

TEST_CASE("staged_rows: rows of B that a row of A does not name never reach it, whatever they hold") {
  for (const NamedDevice& on : kernel_devices()) {
    sparse::Random random(seed + 1);
    for (int i = 0; i < 4; ++i) {
      SpmmProduct clean = make_product(uneven_mask(40, 90, seed + 50 + static_cast<std::uint64_t>(i)), {.n = 12}, seed);
      const ops::SpmmQuery query = clean.query(*on.device);
      const FieldMap config = i % 2 == 0 ? random_config(query, random) : with_panels(query, 16, 2);
      SpmmProduct spoilt = clean;
      for (std::int64_t k = 0; k < 90; k += 3)
        for (std::int64_t j = 0; j < 12; ++j)
          spoilt.host.dense[static_cast<std::size_t>(k * 12 + j)] = k % 2 == 0 ? NAN : std::numeric_limits<float>::infinity();
      const std::vector<float> before = run_product(family(), *on.device, clean, config);
      const std::vector<float> after = run_product(family(), *on.device, spoilt, config);
      INFO(on.name, ", ", to_text(config));
      const sparse::Csr& a = clean.host.walked;
      for (std::int64_t r = 0; r < 40; ++r) {
        const auto first = a.column_indices.begin() + a.row_offsets[static_cast<std::size_t>(r)];
        const auto last = a.column_indices.begin() + a.row_offsets[static_cast<std::size_t>(r) + 1];
        const bool touched = std::any_of(first, last, [](std::int32_t k) { return k % 3 == 0; });
        for (std::int64_t j = 0; j < 12; ++j) {
          const auto at = static_cast<std::size_t>(r * 12 + j);
          if (touched) REQUIRE(!std::isfinite(after[at]));
          else REQUIRE(after[at] == before[at]);
        }
      }
    }
  }
}

TEST_CASE("staged_rows: what a product of a batch holds never reaches another, also where k is cut") {
  for (const NamedDevice& on : kernel_devices())
    for (const bool transposed : {false, true}) {
      Spmm problem{.n = 12, .batch = 3, .values_per_batch = true, .element = Dtype::bf16, .sparse_transposed = transposed};
      problem.dense_layout = Layout::column_major;
      problem.epilogue.residual = true;
      const SpmmProduct clean = make_product(uneven_mask(40, 90, seed), problem, seed);
      SpmmProduct spoilt = clean;
      const auto spoil = [](std::vector<float>& all, std::int64_t stride) {
        for (std::int64_t i = stride; i < 2 * stride; ++i) all[static_cast<std::size_t>(i)] = NAN;
      };
      spoil(spoilt.host.values, spoilt.host.value_stride);
      spoil(spoilt.host.dense, spoilt.host.dense_shape.stride);
      spoil(spoilt.host.residual, spoilt.host.output_shape.stride);
      const FieldMap config = with_panels(clean.query(*on.device), 16, 2);
      const std::vector<float> before = run_product(family(), *on.device, clean, config);
      const std::vector<float> after = run_product(family(), *on.device, spoilt, config);
      const auto stride = static_cast<std::size_t>(clean.host.output_shape.stride);
      INFO(on.name, ", ", to_text(config));
      for (std::size_t i = 0; i < before.size(); ++i) {
        if (i / stride == 1) REQUIRE(std::isnan(after[i]));
        else REQUIRE(after[i] == before[i]);
      }
    }
}

TEST_CASE("staged_rows: batches of more tiles than the grid's second dimension holds accumulate once") {
  if (thread_sanitized) {
    MESSAGE("skipped: 65,600 blocks take ThreadSanitizer hours; the other builds run them");
    return;
  }
  const sparse::Csr csr{.rows = 1, .cols = 2, .row_offsets = {0, 1}, .column_indices = {1}};
  const NamedDevice& on = kernel_devices().front();
  const SpmmProduct c = make_product(csr, {.n = 1, .batch = 65600, .epilogue = {.accumulate = true}}, seed);
  FieldMap config = with_panels(c.query(*on.device), 16, 1);
  config["warps"] = "1";
  const std::vector<float> output = run_product(family(), *on.device, c, config);
  for (std::size_t b = 0; b < output.size(); ++b)
    REQUIRE(std::fabs(output[b] - (c.host.output[b] + c.host.values[0] * c.host.dense[2 * b + 1])) < 1e-6);
}
