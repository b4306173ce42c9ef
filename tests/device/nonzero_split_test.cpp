// nonzero_split against float64, on the emulator in several thread orders and on every GPU: every field in every value,
// random configs and shapes, rows and chunks in every position to each other, and what must not leak.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "config_fields.hpp"
#include "device/csr_trials.hpp"
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

/// The smallest blocks of chunks of that many items: rows are cut as often as can be, within blocks and between them.
ops::Config with_chunks(const ops::SpmmQuery& query, ops::Config config, int chunk_items) {
  NonzeroSplitConfig parsed = config.as<NonzeroSplitConfig>();
  parsed.chunk_items = chunk_items;
  parsed.chunks_per_block = std::max(1, 64 / parsed.threads_per_row);
  parsed.min_blocks = 1;
  config = ops::Config::of(parsed);
  REQUIRE(family().forbidden(query, config).value_or("") == "");
  return config;
}

ops::Config with_chunks(const ops::SpmmQuery& query, int chunk_items) {
  return with_chunks(query, family().default_config(query), chunk_items);
}

/// A structure whose rows have these lengths.
sparse::Csr with_lengths(const std::vector<std::int64_t>& lengths, std::int64_t cols, std::uint64_t of_seed) {
  sparse::Random random(of_seed);
  sparse::Csr csr{.rows = static_cast<std::int64_t>(lengths.size()), .cols = cols};
  for (const std::int64_t length : lengths) {
    csr.row_offsets.push_back(csr.row_offsets.back() + length);
    for (std::int64_t i = 0; i < length; ++i)
      csr.column_indices.push_back(static_cast<std::int32_t>(random.below(cols)));
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
    std::vector<std::int64_t> stairs(40);
    std::iota(stairs.begin(), stairs.end(), std::int64_t{0});
    return std::vector<Shape>{
        {"one row with everything", {3000}},
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
  require_every_field<NonzeroSplitConfig>(field_values());
  const Spmm problem{.n = 256, .element = Dtype::f16, .sparse_transposed = true, .dense_layout = Layout::column_major};
  check_every_value(subject(), std::vector{make_product(uneven_mask(60, 37, seed), problem, seed)}, seed);
}

TEST_CASE("nonzero_split: the default config and random configs are right on random shapes, strides and alignments") {
  check_random_products(subject(), seed, thread_sanitized ? 5 : 12, random_csr_problem);
}

TEST_CASE("nonzero_split: configs of the space are right on a graph-like matrix") {
  MESSAGE("seed " << seed);
  const Spmm problem{.n = 196, .epilogue = {.bias = Bias::per_row, .activation = Activation::relu}};
  const SpmmProduct c = make_product(sparse::power_law(300, 500, 6000, 1.0, seed), problem, seed);
  for (const NamedDevice& on : kernel_devices()) {
    sparse::Random random(seed);
    for (int i = 0; i < (thread_sanitized ? 2 : 8); ++i)
      check_product(family(), on, c, subject().space_config(on, c, random));
  }
}

TEST_CASE("nonzero_split: rows in every position to chunks and blocks are right, the epilogue applied once to each") {
  const Epilogue everything{.bias = Bias::per_row,
                            .residual = true,
                            .activation = Activation::silu,
                            .scale = Scale::host,
                            .accumulate = true};
  for (const NamedDevice& on : kernel_devices())
    for (const Shape& shape : shapes())
      for (const std::int64_t n : {1, 5, 64}) {
        INFO(std::string(shape.what));
        const SpmmProduct c =
            make_product(with_lengths(shape.lengths, 50, seed), {.n = n, .epilogue = everything}, seed);
        const ops::SpmmQuery query = c.query(on.device.get());
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
      const ops::SpmmQuery query = c.query(on.device.get());
      check_product(family(), on, c, with_chunks(query, static_cast<int>(1 + random.below(20))));
    }
  }
}

TEST_CASE(
    "nonzero_split: every pair of types, layouts, strides, batches, index types, alignments and epilogues is right, "
    "rows cut") {
  check_paired_products(subject(), seed, 6,
                        [](const ops::SpmmQuery& query, const PairedProblem& choice, std::size_t i) {
                          const ops::Config config = prepared_as(family(), query, choice);
                          return i % 3 == 0 ? config : with_chunks(query, config, 9);
                        });
}

TEST_CASE("nonzero_split: sizes of zero give what the epilogue makes of nothing") {
  for (const NamedDevice& on : kernel_devices())
    for (const SpmmProduct& c : products_of_nothing(seed))
      check_product(family(), on, c, subject().default_config(on, c));
}

TEST_CASE("nonzero_split: 64-bit offsets into B give the same bits as 32-bit ones") {
  const SpmmProduct c = make_product(uneven_mask(33, 200, seed), {.n = 32}, seed);
  for (const NamedDevice& on : kernel_devices()) {
    const ops::Config config = family().default_config(c.query(on.device.get()));
    SpmmProduct wide = c;
    wide.widen_offsets = true;
    CHECK(run_product(family(), *on.device, wide, config) == run_product(family(), *on.device, c, config));
  }
}

TEST_CASE(
    "nonzero_split: the same config gives the same bits in every thread order, also where rows are cut over blocks") {
  const SpmmProduct c = make_product(with_lengths({900, 2, 0, 70, 300, 1}, 300, seed), {.n = 36}, seed);
  check_every_order(subject(), c, with_chunks(c.query(kernel_devices().front().device.get()), 16));
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
    const ops::SpmmQuery query = c.query(on.device.get());
    for (const int chunk_items : {32, 256, 2048}) {
      const std::vector<float> output = run_product(family(), *on.device, c, with_chunks(query, chunk_items));
      INFO(on.name, ", chunks of ", chunk_items);
      for (std::size_t i = 0; i < 4; ++i) CHECK(std::fabs(output[i] - reference[i]) <= 3e-7 * reference[i]);
    }
  }
}

TEST_CASE("nonzero_split: what is not finite in A stays in its row, and in B where it is used") {
  check_leaks(subject(), seed, 6, [](const NamedDevice& on, const SpmmProduct& c, sparse::Random& random, int i) {
    return i % 2 == 0 ? subject().random_config(on, c, random) : with_chunks(c.query(on.device.get()), 7);
  });
}

TEST_CASE("nonzero_split: what a product of a batch holds never reaches another, also where rows are cut over blocks") {
  for (const NamedDevice& on : kernel_devices())
    for (const bool transposed : {false, true}) {
      const SpmmProduct c = three_products(transposed, seed);
      check_products_stay_apart(subject(), on, c, with_chunks(c.query(on.device.get()), 6));
    }
}

TEST_CASE("nonzero_split: batches of more tiles than the grid's second dimension holds accumulate once") {
  for (const char* raster : {"rows_first", "columns_first"})
    check_many_products(subject(), seed, [&](const NamedDevice& on, const SpmmProduct& c) {
      return with_fields(family(), subject().default_config(on, c), {{"raster", raster}, {"chunks_per_block", "32"}});
    });
}
