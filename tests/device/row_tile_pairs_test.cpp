// row_tile on problems among which every pair of two properties occurs: types, layouts, strides, batches, transposition,
// index types, alignments and epilogues, each against float64.
#include <array>
#include <cmath>
#include <limits>

#include "device/row_tile_harness.hpp"
#include "device/spmm_pairs.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 20203;

/// Of the short list, the last admitted config: it prepares operands where the default does not, and the other way round.
FieldMap other_config(const ops::SpmmQuery& query) {
  const std::vector<FieldMap> list = row_tile().short_list(query);
  for (auto config = list.rbegin(); config != list.rend(); ++config)
    if (!row_tile().forbidden(query, *config)) return *config;
  return row_tile().default_config(query);
}

RowTileCase small_case(const Spmm& problem, std::uint64_t s) { return make_case(uneven_mask(40, 90, s), problem, s); }

}  // namespace

TEST_CASE("every pair of types, layouts, strides, batches, index types, alignments and epilogues is right") {
  MESSAGE("seed " << seed);
  std::vector<PairedProblem> problems = spmm_pairs(seed);
  CHECK(problems.size() >= 30);
  if (thread_sanitized) {
    MESSAGE("skipped: all but 6 of " << problems.size() << " problems, which take ThreadSanitizer too long");
    problems.resize(6);
  }
  for (const NamedDevice& on : kernel_devices()) {
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const PairedProblem& choice = problems[i];
      ops::validate(choice.problem, sparse::statistics(choice.csr.rows, choice.csr.cols, choice.csr.row_offsets, choice.csr.column_indices));
      const RowTileCase c = make_case(choice.csr, choice.problem, seed + i);
      const ops::SpmmQuery query = c.query(*on.device);
      REQUIRE(!row_tile().declines(query));
      const FieldMap config = choice.other_preparation ? other_config(query) : row_tile().default_config(query);
      REQUIRE(row_tile().forbidden(query, config).value_or("") == "");
      check_row_tile(on, c, config);
    }
  }
}

TEST_CASE("sizes of zero give what the epilogue makes of nothing") {
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
        const RowTileCase c = make_case(csr, problem, seed);
        check_row_tile(on, c, row_tile().default_config(c.query(*on.device)));
        check_row_tile(on, c, other_config(c.query(*on.device)));
      }
}

TEST_CASE("a NaN passes through every activation, and infinity and overflow are what float64 says") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const NamedDevice& on : kernel_devices())
    for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu})
      for (const Dtype type : {Dtype::f32, Dtype::f16}) {
        RowTileCase c = small_case({.n = 8, .output = type, .epilogue = {.activation = activation}}, seed);
        std::vector<float>& values = c.host.values;
        REQUIRE(values.size() > 40);
        values[3] = NAN;
        values[30] = infinity;
        for (float& value : std::span(values).last(10)) value *= 1e5F;  // past f16
        INFO(name(activation), ", ", name(type));
        check_row_tile(on, c, row_tile().default_config(c.query(*on.device)));
      }
}

TEST_CASE("what a product of a batch holds never reaches another") {
  for (const NamedDevice& on : kernel_devices())
    for (const bool transposed : {false, true}) {
      Spmm problem{.n = 12, .batch = 3, .values_per_batch = true, .element = Dtype::bf16, .sparse_transposed = transposed};
      problem.dense_layout = Layout::column_major;
      problem.epilogue.residual = true;
      const RowTileCase clean = small_case(problem, seed);
      RowTileCase spoilt = clean;
      const auto spoil = [](std::vector<float>& all, std::int64_t stride) {
        for (std::int64_t i = stride; i < 2 * stride; ++i) all[static_cast<std::size_t>(i)] = NAN;
      };
      spoil(spoilt.host.values, spoilt.host.value_stride);
      spoil(spoilt.host.dense, spoilt.host.dense_shape.stride);
      spoil(spoilt.host.residual, spoilt.host.output_shape.stride);
      for (const FieldMap& config : {row_tile().default_config(clean.query(*on.device)), other_config(clean.query(*on.device))}) {
        const std::vector<float> before = run_row_tile(*on.device, clean, config);
        const std::vector<float> after = run_row_tile(*on.device, spoilt, config);
        const auto stride = static_cast<std::size_t>(clean.host.output_shape.stride);
        INFO(on.name, ", ", to_text(config));
        for (std::size_t i = 0; i < before.size(); ++i) {
          if (i / stride == 1) REQUIRE(std::isnan(after[i]));
          else REQUIRE(after[i] == before[i]);
        }
      }
    }
}

TEST_CASE("batches of more tiles than the grid's second dimension holds accumulate once") {
  if (thread_sanitized) {
    MESSAGE("skipped: 65,600 blocks take ThreadSanitizer hours; the other builds run them");
    return;
  }
  const sparse::Csr csr{.rows = 1, .cols = 2, .row_offsets = {0, 1}, .column_indices = {1}};
  const NamedDevice& on = kernel_devices().front();
  for (const char* raster : {"rows_first", "columns_first"}) {
    const RowTileCase c = make_case(csr, {.n = 1, .batch = 65600, .epilogue = {.accumulate = true}}, seed);
    FieldMap config = row_tile().default_config(c.query(*on.device));
    config["raster"] = raster;
    config["tile_rows"] = "1";
    const std::vector<float> output = run_row_tile(*on.device, c, config);
    for (std::size_t b = 0; b < output.size(); ++b)
      REQUIRE(std::fabs(output[b] - (c.host.output[b] + c.host.values[0] * c.host.dense[2 * b + 1])) < 1e-6);
  }
}

TEST_CASE("rows past what the grid's second dimension holds accumulate once") {
  if (thread_sanitized) {
    MESSAGE("skipped: 131,072 blocks take ThreadSanitizer hours; the other builds run them");
    return;
  }
  sparse::Csr csr{.rows = 65537, .cols = 1};
  for (std::int64_t row = 0; row < csr.rows; ++row) csr.row_offsets.push_back(row % 5 == 0 ? csr.row_offsets.back() + 1 : csr.row_offsets.back());
  csr.column_indices.assign(static_cast<std::size_t>(csr.row_offsets.back()), 0);
  const NamedDevice& on = kernel_devices().front();
  const RowTileCase c = make_case(csr, {.n = 1, .epilogue = {.accumulate = true}}, seed);
  RowTileConfig config = codegen::from_map<RowTileConfig>(row_tile().default_config(c.query(*on.device))).value();
  config.tile_rows = config.threads_per_row = 1;
  config.row_split = 32;
  config.tile_nonzeros = 256;
  config.raster = Raster::columns_first;
  config.deal_rows = true;
  REQUIRE(row_tile().forbidden(c.query(*on.device), codegen::to_map(config)).value_or("") == "");
  check_row_tile(on, c, codegen::to_map(config));
}
