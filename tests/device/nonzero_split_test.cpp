// nonzero_split against float64, on the emulator in several thread orders and on every GPU: every field in every value, random
// configs and shapes, rows and chunks in every position to each other, and what must not leak.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "device/csr_product_harness.hpp"
#include "device/random_configs.hpp"
#include "device/spmm_pairs.hpp"
#include "ops/spmm/nonzero_split.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 20207;

const ops::Family& family() { return *ops::find_family("spmm", "nonzero_split"); }

/// Values to try for each field of a config; every field is named (checked below).
const FieldValues& field_values() {
  static const FieldValues values = {
      {"chunk_items", {"1", "2", "5", "8", "31", "64", "128", "300", "1024"}},
      {"chunks_per_block", {"1", "2", "4", "6", "8", "16", "32", "64"}},
      {"tile_columns", {"1", "4", "8", "16", "32", "64", "128", "256"}},
      {"threads_per_row", {"1", "2", "4", "8", "16", "32"}},
      {"tile_nonzeros", {"4", "8", "16", "32", "64", "128", "256"}},
      {"sparse_vector", {"1", "2", "4", "8"}},
      {"dense_vector", {"1", "2", "4", "8"}},
      {"loads_in_flight", {"1", "2", "4", "8", "16"}},
      {"overlap_batches", {"false", "true"}},
      {"column_edge", {"predicated", "clamped", "unchecked"}},
      {"min_blocks", {"1", "2", "8"}},
      {"prefetch_sparse", {"false", "true"}},
      {"raster", {"rows_first", "columns_first"}},
      {"stream_output", {"false", "true"}},
      {"prepare_dense", {"false", "true"}},
      {"pack_values", {"false", "true"}},
  };
  return values;
}

FieldMap random_config(const ops::SpmmQuery& query, sparse::Random& random) {
  return walk_configs(family(), field_values(), query, random).value_or(family().default_config(query));
}

/// The smallest blocks of chunks of that many items: rows are cut as often as can be, within blocks and between them.
FieldMap with_chunks(const ops::SpmmQuery& query, FieldMap config, int chunk_items) {
  NonzeroSplitConfig parsed = codegen::from_map<NonzeroSplitConfig>(config).value();
  parsed.chunk_items = chunk_items;
  parsed.chunks_per_block = std::max(1, 64 / parsed.threads_per_row);
  parsed.min_blocks = 1;
  config = codegen::to_map(parsed);
  REQUIRE(family().forbidden(query, config).value_or("") == "");
  return config;
}

FieldMap with_chunks(const ops::SpmmQuery& query, int chunk_items) { return with_chunks(query, family().default_config(query), chunk_items); }

/// A structure whose rows have these lengths.
sparse::Csr with_lengths(const std::vector<std::int64_t>& lengths, std::int64_t cols, std::uint64_t of_seed) {
  sparse::Random random(of_seed);
  sparse::Csr csr{.rows = static_cast<std::int64_t>(lengths.size()), .cols = cols};
  for (const std::int64_t length : lengths) {
    csr.row_offsets.push_back(csr.row_offsets.back() + length);
    for (std::int64_t i = 0; i < length; ++i) csr.column_indices.push_back(static_cast<std::int32_t>(random.below(cols)));
  }
  return csr;
}

struct Shape {
  const char* what;
  std::vector<std::int64_t> lengths;
};

/// Rows in every position to chunks of 8 items.
const std::vector<Shape>& shapes() {
  static const std::vector<Shape> list = [] {
    std::vector<std::int64_t> mostly_empty(200, 0);
    mostly_empty[0] = mostly_empty[90] = mostly_empty[199] = 3;
    std::vector<std::int64_t> stairs;
    for (std::int64_t i = 0; i < 40; ++i) stairs.push_back(i);
    return std::vector<Shape>{{"one row with everything", {3000}},
                              {"one row of one", {1}},
                              {"rows that fill chunks with their ends", {7, 7, 7, 7}},
                              {"rows whose last nonzero fills a chunk, their ends in the next", {8, 7, 16, 15, 24}},
                              {"empty rows at the borders of chunks", {7, 0, 6, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 7}},
                              {"empty rows before, between and behind long ones", {0, 0, 0, 40, 0, 40, 0, 0}},
                              {"long rows, each begun and ended within a chunk's length of another", {9, 8, 17, 30, 8, 9, 100, 8}},
                              {"no nonzeros", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
                              {"nearly only empty rows", mostly_empty},
                              {"every length modulo a chunk", stairs},
                              {"a row over many blocks among short ones", {1, 2, 900, 3, 0, 1}}};
  }();
  return list;
}

}  // namespace

TEST_CASE("nonzero_split: every field of a config is tried in every value, and each gives the right product") {
  std::set<std::string> fields, tried;
  for (const auto& [field, value] : codegen::to_map(NonzeroSplitConfig{})) fields.insert(field);
  for (const auto& [field, values] : field_values()) tried.insert(field);
  REQUIRE(fields == tried);

  const Spmm problem{.n = 256, .element = Dtype::f16, .sparse_transposed = true, .dense_layout = Layout::column_major};
  const SpmmProduct c = make_product(uneven_mask(60, 37, seed), problem, seed);
  for (const NamedDevice& on : kernel_devices()) {
    const ops::SpmmQuery query = c.query(*on.device);
    sparse::Random random(seed);
    std::set<std::pair<std::string, std::string>> seen;
    for (const auto& [field, values] : field_values())
      for (const std::string& value : values) {
        if (seen.contains({field, value})) continue;
        const std::optional<FieldMap> config = walk_configs(family(), field_values(), query, random, field, value);
        INFO(field, " = ", value);
        REQUIRE(config.has_value());
        seen.insert(config->begin(), config->end());
        check_product(family(), on, c, *config);
      }
  }
}

TEST_CASE("nonzero_split: the default config and random configs are right on random shapes, strides and alignments") {
  MESSAGE("seed " << seed);
  for (const NamedDevice& on : kernel_devices()) {
    sparse::Random random(seed);
    for (int i = 0; i < (thread_sanitized ? 5 : 12); ++i) {
      const SpmmProduct c = make_product(random_matrix(random), random_csr_problem(random), random.bits());
      const ops::SpmmQuery query = c.query(*on.device);
      REQUIRE(family().declines(query).value_or("") == "");
      check_product(family(), on, c, family().default_config(query));
      check_product(family(), on, c, random_config(query, random));
    }
  }
}

TEST_CASE("nonzero_split: configs of the space are right on a graph-like matrix") {
  MESSAGE("seed " << seed);
  const Spmm problem{.n = 196, .epilogue = {.bias = Bias::per_row, .activation = Activation::relu}};
  const SpmmProduct c = make_product(sparse::power_law(300, 500, 6000, 1.0, seed), problem, seed);
  for (const NamedDevice& on : kernel_devices()) {
    const ops::SpmmQuery query = c.query(*on.device);
    std::vector<FieldMap> admitted;
    for (FieldMap& config : family().space(query))
      if (!family().forbidden(query, config)) admitted.push_back(std::move(config));
    sparse::Random random(seed);
    for (int i = 0; i < (thread_sanitized ? 2 : 8); ++i)
      check_product(family(), on, c, admitted[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(admitted.size())))]);
  }
}

TEST_CASE("nonzero_split: rows in every position to chunks and blocks are right, the epilogue applied once to each") {
  const Epilogue everything{.bias = Bias::per_row, .residual = true, .activation = Activation::silu, .scale = Scale::host, .accumulate = true};
  for (const NamedDevice& on : kernel_devices())
    for (const Shape& shape : shapes())
      for (const std::int64_t n : {1, 5, 64}) {
        INFO(std::string(shape.what));
        const SpmmProduct c = make_product(with_lengths(shape.lengths, 50, seed), {.n = n, .epilogue = everything}, seed);
        const ops::SpmmQuery query = c.query(*on.device);
        check_product(family(), on, c, family().default_config(query));
        for (const int chunk_items : {1, 8})
          if (!thread_sanitized || chunk_items == 8) check_product(family(), on, c, with_chunks(query, chunk_items));
      }
}

TEST_CASE("nonzero_split: random row lengths are right with chunks of every small size") {
  MESSAGE("seed " << seed);
  for (const NamedDevice& on : kernel_devices()) {
    sparse::Random random(seed);
    for (int i = 0; i < (thread_sanitized ? 4 : 24); ++i) {
      std::vector<std::int64_t> lengths(static_cast<std::size_t>(1 + random.below(60)));
      for (std::int64_t& length : lengths) length = random.below(pick<std::int64_t>(random, {1, 2, 10, 10, 70}));
      const SpmmProduct c = make_product(with_lengths(lengths, 40, random.bits()), {.n = 12}, random.bits());
      const ops::SpmmQuery query = c.query(*on.device);
      check_product(family(), on, c, with_chunks(query, static_cast<int>(1 + random.below(20))));
    }
  }
}

TEST_CASE("nonzero_split: every pair of types, layouts, strides, batches, index types, alignments and epilogues is right, rows cut") {
  MESSAGE("seed " << seed);
  std::vector<PairedProblem> problems = spmm_pairs(seed);
  if (thread_sanitized) {
    MESSAGE("skipped: all but 6 of " << problems.size() << " problems, which take ThreadSanitizer too long");
    problems.resize(6);
  }
  for (const NamedDevice& on : kernel_devices()) {
    for (std::size_t i = 0; i < problems.size(); ++i) {
      PairedProblem& choice = problems[i];
      if (choice.problem.math == Math::strict) choice.problem.math = Math::accurate;
      const SpmmProduct c = make_product(choice.csr, choice.problem, seed + i);
      const ops::SpmmQuery query = c.query(*on.device);
      REQUIRE(family().declines(query).value_or("") == "");
      FieldMap config = family().default_config(query);
      if (choice.other_preparation)
        for (const FieldMap& listed : family().space(query))
          if (!family().forbidden(query, listed)) config = listed;
      check_product(family(), on, c, i % 3 == 0 ? config : with_chunks(query, config, 9));
    }
  }
}

TEST_CASE("nonzero_split: sizes of zero give what the epilogue makes of nothing") {
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

TEST_CASE("nonzero_split: 64-bit offsets into B give the same bits as 32-bit ones") {
  const SpmmProduct c = make_product(uneven_mask(33, 200, seed), {.n = 32}, seed);
  for (const NamedDevice& on : kernel_devices()) {
    const FieldMap config = family().default_config(c.query(*on.device));
    SpmmProduct wide = c;
    wide.widen_offsets = true;
    CHECK(run_product(family(), *on.device, wide, config) == run_product(family(), *on.device, c, config));
  }
}

TEST_CASE("nonzero_split: the same config gives the same bits in every thread order, also where rows are cut over blocks") {
  const SpmmProduct c = make_product(with_lengths({900, 2, 0, 70, 300, 1}, 300, seed), {.n = 36}, seed);
  const FieldMap config = with_chunks(c.query(*kernel_devices().front().device), 16);
  const std::vector<float> first = run_product(family(), *kernel_devices()[0].device, c, config);
  for (std::size_t i = 1; i < std::min<std::size_t>(3, kernel_devices().size()); ++i)
    CHECK(run_product(family(), *kernel_devices()[i].device, c, config) == first);
}

TEST_CASE("nonzero_split: long sums of one sign keep the accuracy of blocked sums") {
  // Plain sums of so many products would err by 1e-6 and more.
  const std::int64_t length = thread_sanitized ? 5000 : 100000;
  SpmmProduct c = make_product(with_lengths({length, 3}, 2000, seed), {.n = 4}, seed);
  for (float& value : c.host.values) value = std::fabs(value);
  for (float& value : c.host.dense) value = std::fabs(value);
  const std::vector<std::int64_t> columns = {0, 1, 2, 3};
  const std::vector<double> reference = c.host.reference(0, columns);
  for (const NamedDevice& on : kernel_devices()) {
    const ops::SpmmQuery query = c.query(*on.device);
    for (const int chunk_items : {32, 256, 2048}) {
      const std::vector<float> output = run_product(family(), *on.device, c, with_chunks(query, chunk_items));
      INFO(on.name, ", chunks of ", chunk_items);
      for (std::size_t i = 0; i < 4; ++i) CHECK(std::fabs(output[i] - reference[i]) <= 3e-7 * reference[i]);
    }
  }
}

TEST_CASE("nonzero_split: values that are not finite change their own row only") {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const NamedDevice& on : kernel_devices()) {
    sparse::Random random(seed);
    for (int i = 0; i < 6; ++i) {
      SpmmProduct clean = make_product(uneven_mask(40, 90, seed + static_cast<std::uint64_t>(i)), {.n = 20}, seed);
      const ops::SpmmQuery query = clean.query(*on.device);
      const FieldMap config = i % 2 == 0 ? random_config(query, random) : with_chunks(query, 7);
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

TEST_CASE("nonzero_split: rows of B that a row of A does not name never reach it, whatever they hold") {
  for (const NamedDevice& on : kernel_devices()) {
    sparse::Random random(seed + 1);
    for (int i = 0; i < 6; ++i) {
      SpmmProduct clean = make_product(uneven_mask(40, 90, seed + 50 + static_cast<std::uint64_t>(i)), {.n = 12}, seed);
      const ops::SpmmQuery query = clean.query(*on.device);
      const FieldMap config = i % 2 == 0 ? random_config(query, random) : with_chunks(query, 7);
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

TEST_CASE("nonzero_split: what a product of a batch holds never reaches another, also where rows are cut over blocks") {
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
      const FieldMap config = with_chunks(clean.query(*on.device), 6);
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

TEST_CASE("nonzero_split: batches of more tiles than the grid's second dimension holds accumulate once") {
  if (thread_sanitized) {
    MESSAGE("skipped: 65,600 blocks take ThreadSanitizer hours; the other builds run them");
    return;
  }
  const sparse::Csr csr{.rows = 1, .cols = 2, .row_offsets = {0, 1}, .column_indices = {1}};
  const NamedDevice& on = kernel_devices().front();
  for (const char* raster : {"rows_first", "columns_first"}) {
    const SpmmProduct c = make_product(csr, {.n = 1, .batch = 65600, .epilogue = {.accumulate = true}}, seed);
    FieldMap config = family().default_config(c.query(*on.device));
    config["raster"] = raster;
    config["chunks_per_block"] = "32";
    const std::vector<float> output = run_product(family(), *on.device, c, config);
    for (std::size_t b = 0; b < output.size(); ++b)
      REQUIRE(std::fabs(output[b] - (c.host.output[b] + c.host.values[0] * c.host.dense[2 * b + 1])) < 1e-6);
  }
}
