// sparse_vector against float64, on the emulator in several thread orders and on every GPU: every field in every value,
// problems in which every pair of properties occurs, sizes from nothing up, and what must not leak.
#include "ops/spmm/sparse_vector.hpp"
#include "device/packed_run.hpp"
#include "device/packed_trials.hpp"
#include "ops/families.hpp"
#include "ops/topology/packed_runs.hpp"
#include "sparse/packed_runs.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 20410;

const ops::Family& family() {
  static const std::unique_ptr<ops::Family> made = ops::make_sparse_vector();
  return *made;
}

const FieldValues& field_values() {
  static const FieldValues values = {
      {"gap_bits", {"4", "8"}},
      {"columns", {"1", "2", "4"}},
      {"dense_rows", {"448", "1024", "2048"}},
      {"wide_dense", {"false", "true"}},
      {"threads", {"32", "64", "128", "256"}},
      {"lanes_per_row", {"4", "8", "16", "32", "64", "128"}},
      {"tile_rows", {"1", "2", "8", "16", "64", "128"}},
      {"min_blocks", {"1", "2", "3"}},
      {"load_ahead", {"false", "true"}},
  };
  return values;
}

/// One product to check.
struct VectorCase {
  VectorCase(const sparse::Csr& csr, const Spmm& problem, std::uint64_t case_seed)
      : host(problem, csr, case_seed, -0.75F) {}

  tune::SpmmHost host;
  std::optional<ops::SizeRange> sizes = {};  ///< that the choice serves; empty: the problem's n alone

  const Spmm& problem() const { return host.problem; }
  ops::SpmmQuery query(const device::Device* device) const {
    const sparse::Csr& a = host.walked;
    const TopologyStatistics statistics = sparse::statistics(a.rows, a.cols, a.row_offsets, a.column_indices);
    return *ops::make_query(problem(), statistics, sizes.value_or(ops::SizeRange{problem().n, problem().n}), device);
  }
};

/// The structure of packed runs in device memory, made on the host, and every set of a case's values.
class RunsOnDevice {
 public:
  RunsOnDevice(device::Device& device, const VectorCase& c, int gap_bits)
      : form_(sparse::packed_runs(c.host.walked, gap_bits, c.host.value_positions)),
        row_runs_(uploaded(device, form_.row_runs)),
        starts_(uploaded(device, form_.starts)),
        counts_(uploaded(device, form_.counts)),
        codes_(uploaded(device, form_.codes)),
        firsts_(uploaded(device, form_.firsts)),
        positions_(uploaded(device, form_.positions)) {
    pointers_.runs = {.row_runs = row_runs_.as<unsigned>(),
                      .starts = starts_.as<unsigned short>(),
                      .counts = counts_.as<unsigned char>(),
                      .codes = codes_.as<unsigned>(),
                      .firsts = firsts_.as<int>(),
                      .positions = form_.positions.empty() ? nullptr : positions_.as<int>(),
                      .runs = static_cast<unsigned>(form_.runs()),
                      .groups = static_cast<unsigned>(form_.groups()),
                      .gap_bits = gap_bits};
    const Spmm& problem = c.problem();
    const auto nonzeros = static_cast<std::size_t>(c.host.walked.nonzeros());
    for (std::int64_t set = 0; set < (problem.values_per_batch ? problem.batch : 1); ++set) {
      const auto values =
          std::span<const float>(c.host.values).subspan(static_cast<std::size_t>(set * c.host.value_stride), nonzeros);
      const std::vector<std::byte> packed =
          sparse::pack(form_, problem.element, sparse::to_storage(problem.element, values));
      sets_.insert(sets_.end(), packed.begin(), packed.end());
    }
  }
  const ops::TopologyPointers& pointers() const { return pointers_; }
  const std::vector<std::byte>& sets() const { return sets_; }

 private:
  sparse::RunForm form_;
  device::Buffer row_runs_, starts_, counts_, codes_, firsts_, positions_;
  ops::TopologyPointers pointers_;
  std::vector<std::byte> sets_;
};

std::vector<float> run(const NamedDevice& on, const VectorCase& c, const ops::Config& config) {
  const RunsOnDevice runs(*on.device, c, config.as<SparseVectorConfig>().gap_bits);
  const PackedRun product(*on.device, family(), c.host, c.query(on.device.get()), config, runs.pointers(), runs.sets());
  product.enqueue();
  return product.output();
}

void check(const NamedDevice& on, const VectorCase& c, const ops::Config& config) {
  INFO(on.name, ": ", described(c.host), "; ", to_text(config.to_map()));
  check_output(c.host, run(on, c, config), element_tolerance(c.host.problem));
}

const Subject<VectorCase>& subject() {
  static const Subject<VectorCase> made{.family = family(),
                                        .devices = kernel_devices(),
                                        .values = field_values(),
                                        .run = run,
                                        .check = check,
                                        .slow = true};
  return made;
}

}  // namespace

TEST_CASE("sparse_vector: every field of a config is tried in every value, and each gives the right product") {
  require_every_field<SparseVectorConfig>(field_values());
  std::vector<VectorCase> cases;
  for (const std::int64_t n : {4, 2, 1})
    for (const Dtype element : {Dtype::f16, Dtype::f32})
      cases.emplace_back(uneven_mask(100, 440, seed), persistent(n, element), seed);
  cases.emplace_back(sparse::uniform(9, 2048, 0.0, seed), persistent(1, Dtype::f16), seed);  // rows for many lanes
  check_every_value(subject(), cases, seed);
}

TEST_CASE("sparse_vector: every pair of types, layouts, strides, batches, alignments and epilogues is right") {
  check_paired_problems(subject(), seed, {4, 1, 2, 3, 1, 4, 2}, [](Spmm& problem, std::size_t i) {
    if (i % 4 == 1) problem.math = Math::strict;
    if (i % 4 == 2) problem.nonfinite = NonFinite::dense;
  });
}

TEST_CASE("sparse_vector: the default config and random configs are right on random shapes and densities") {
  MESSAGE("seed " << seed);
  sparse::Random random(seed);
  for (int i = 0; i < (thread_sanitized ? 2 : 9); ++i) {
    const auto rows = pick<std::int64_t>(random, {1, 2, 15, 33, 70, 140});
    const auto cols = pick<std::int64_t>(random, {1, 2, 31, 33, 64, 147, 300, 448});
    Spmm problem = persistent(1 + random.below(4), static_cast<Dtype>(i % 3),
                              random.below(2) == 0 ? Layout::row_major : Layout::column_major);
    if (random.below(2) == 0) problem.value_lifetime = ValueLifetime::per_call;
    if (random.below(3) == 0) problem.alignment_bytes = size_of(problem.element);
    if (random.below(3) == 0) problem.nonfinite = NonFinite::dense;
    const double sparsity = pick(random, {0.0, 0.5, 0.8, 0.95});
    const sparse::Csr csr =
        i % 2 == 0 ? uneven_mask(rows, cols, random.bits()) : sparse::uniform(rows, cols, sparsity, random.bits());
    const VectorCase c(csr, problem, random.bits());
    on_each(subject(), static_cast<std::size_t>(i), c, random,
            [&](const NamedDevice& on, const ops::Config& config) { check(on, c, config); });
  }
}

TEST_CASE(
    "sparse_vector: full rows, empty matrices, no rows, no columns, and one element are right, with every epilogue's "
    "help") {
  check_small_matrices(subject(), 3, {Dtype::f16, Dtype::f32}, seed);
}

TEST_CASE("sparse_vector: a choice for several n is right for each of them") {
  sparse::Random random(seed);
  for (const Dtype element : {Dtype::bf16, Dtype::f32})
    for (const std::int64_t n : {1, 2, 3, 4}) {
      const Layout layout = n % 2 == 0 ? Layout::row_major : Layout::column_major;
      check_choice(subject(), {uneven_mask(70, 300, seed), persistent(n, element, layout), seed}, {1, 4, 1}, random);
    }
}

TEST_CASE(
    "sparse_vector: the same config gives the same bits in every thread order, with rows that several warps share") {
  for (const std::int64_t n : {1, 3}) {
    const VectorCase c(sparse::uniform(40, 448, 0.3, seed), persistent(n, Dtype::f16), seed);
    const SparseVectorConfig config{.columns = n == 1 ? 1 : 4,
                                    .dense_rows = 448,
                                    .threads = 128,
                                    .lanes_per_row = 64,
                                    .tile_rows = 8,
                                    .min_blocks = 1};
    check_every_order(subject(), c, ops::Config::of(config));
  }
}

TEST_CASE("sparse_vector: values that are not finite change their own row only") {
  sparse::Random random(seed);
  std::size_t turn = 0;
  for (const Dtype element : {Dtype::f16, Dtype::f32}) {
    const VectorCase c(uneven_mask(40, 190, seed), persistent(2, element), seed);
    on_each(subject(), turn++, c, random, [&](const NamedDevice& on, const ops::Config& config) {
      check_rows_stay_apart(subject(), on, c, config, 3);
    });
  }
}

TEST_CASE(
    "sparse_vector: elements of B that are not finite change their own column only, and there the rows that use them") {
  sparse::Random random(seed);
  std::size_t turn = 0;
  for (const Dtype element : {Dtype::bf16, Dtype::f32})
    for (const NonFinite nonfinite : {NonFinite::dense, NonFinite::sparse}) {
      Spmm problem = persistent(3, element);
      problem.nonfinite = nonfinite;
      // Rows with escapes, rows that end within a run, empty rows.
      const VectorCase c(sparse::uniform(60, 440, 0.93, seed, 0.4), problem, seed);
      on_each(subject(), turn++, c, random, [&](const NamedDevice& on, const ops::Config& config) {
        check_columns_stay_apart(subject(), on, c, config, true,
                                 [](std::int64_t k, std::int64_t j) { return k % 9 == 0 && j == 1; });
      });
    }
}

TEST_CASE("sparse_vector: what a product of a batch holds never reaches another") {
  sparse::Random random(seed);
  std::size_t turn = 0;
  for (const ValueLifetime lifetime : {ValueLifetime::per_call, ValueLifetime::persistent}) {
    const VectorCase c(uneven_mask(40, 90, seed), three_products(2, Dtype::f16, lifetime), seed);
    on_each(subject(), turn++, c, random, [&](const NamedDevice& on, const ops::Config& config) {
      check_products_stay_apart(subject(), on, c, config);
    });
  }
}
