// sparse_vector against float64, on the emulator in several thread orders and on every GPU: every field in every value, problems in
// which every pair of properties occurs, sizes from nothing up, and what must not leak.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "codegen/fields.hpp"
#include "device/config_walk.hpp"
#include "device/packed_run.hpp"
#include "device/pairwise.hpp"
#include "device/problem_levels.hpp"
#include "ops/spmm/sparse_vector.hpp"
#include "ops/topology/packed_runs.hpp"
#include "sparse/packed_runs.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 20410;
constexpr float infinity = std::numeric_limits<float>::infinity();

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
  VectorCase(const sparse::Csr& csr, const Spmm& problem, std::uint64_t case_seed) : host(problem, csr, case_seed, -0.75F) {}

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
      const auto values = std::span<const float>(c.host.values).subspan(static_cast<std::size_t>(set * c.host.value_stride), nonzeros);
      const std::vector<std::byte> packed = sparse::pack(form_, problem.element, sparse::to_storage(problem.element, values));
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

std::vector<float> run(const NamedDevice& on, const VectorCase& c, const FieldMap& config) {
  const RunsOnDevice runs(*on.device, c, std::stoi(config.at("gap_bits")));
  const PackedRun product(*on.device, family(), c.host, c.query(on.device.get()), config, runs.pointers(), runs.sets());
  product.enqueue();
  return product.output();
}

void check(const NamedDevice& on, const VectorCase& c, const FieldMap& config) {
  INFO(on.name, ": ", described(c.host), "; ", to_text(config));
  check_output(c.host, run(on, c, config));
}

FieldMap default_config(const ops::SpmmQuery& query) { return family().default_config(query); }

template <class T>
T pick(sparse::Random& random, std::initializer_list<T> values) {
  return *(values.begin() + random.below(static_cast<std::int64_t>(values.size())));
}

Spmm persistent(std::int64_t n, Dtype element, Layout dense_layout = Layout::row_major) {
  return {.n = n, .element = element, .output = Dtype::f32, .dense_layout = dense_layout, .value_lifetime = ValueLifetime::persistent};
}

/// The family takes the query, unless there is nothing to multiply.
void require_served(const VectorCase& c, const ops::SpmmQuery& query) {
  REQUIRE(family().declines(query).value_or("") == (c.host.walked.nonzeros() == 0 ? "A has no nonzeros" : ""));
}

/// body(on, config) for the default and a random config of each device.
void on_each(const VectorCase& c, sparse::Random& random, const std::function<void(const NamedDevice&, const FieldMap&)>& body) {
  for (const NamedDevice& on : kernel_devices()) {
    const ops::SpmmQuery query = c.query(on.device.get());
    require_served(c, query);
    body(on, default_config(query));
    body(on, random_config(family(), query, field_values(), random));
  }
}

bool uses(const sparse::Csr& csr, std::int64_t row, std::int64_t column) {
  const auto begin = csr.column_indices.begin() + csr.row_offsets[static_cast<std::size_t>(row)];
  const auto end = csr.column_indices.begin() + csr.row_offsets[static_cast<std::size_t>(row) + 1];
  return std::find(begin, end, column) != end;
}

}  // namespace

TEST_CASE("sparse_vector: every field of a config is tried in every value, and each gives the right product") {
  std::set<std::string> fields, tried;
  for (const auto& [field, value] : codegen::to_map(SparseVectorConfig{})) fields.insert(field);
  for (const auto& [field, values] : field_values()) tried.insert(field);
  REQUIRE(fields == tried);

  std::vector<VectorCase> cases;
  for (const std::int64_t n : {4, 2, 1})
    for (const Dtype element : {Dtype::f16, Dtype::f32}) cases.emplace_back(uneven_mask(100, 440, seed), persistent(n, element), seed);
  cases.emplace_back(sparse::uniform(9, 2048, 0.0, seed), persistent(1, Dtype::f16), seed);  // rows for many lanes
  for (const NamedDevice& on : kernel_devices()) {
    std::set<std::pair<std::string, std::string>> seen;
    sparse::Random random(seed);
    for (const auto& [field, values] : field_values())
      for (const std::string& value : values) {
        if (seen.contains({field, value})) continue;
        INFO(field, " = ", value);
        for (const VectorCase& c : cases) {
          const std::optional<FieldMap> config = walk(family(), c.query(on.device.get()), field_values(), random, field, value);
          if (!config) continue;
          seen.insert(config->begin(), config->end());
          check(on, c, *config);
          break;
        }
        CHECK(seen.contains({field, value}));
        if (thread_sanitized) break;
      }
  }
}

TEST_CASE("sparse_vector: every pair of types, layouts, strides, batches, alignments and epilogues is right") {
  MESSAGE("seed " << seed);
  Levels counting(nullptr);
  choose_tensor_problem(counting, seed);
  std::vector<std::vector<int>> rows = pairwise(counting.counts(), seed);
  CHECK(rows.size() >= 30);
  if (thread_sanitized) {
    MESSAGE("skipped: all but 4 of " << rows.size() << " problems, which take ThreadSanitizer too long");
    rows.resize(4);
  }
  for (const NamedDevice& on : kernel_devices()) {
    sparse::Random random(seed);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Levels levels(&rows[i]);
      LevelledProblem chosen = choose_tensor_problem(levels, seed, {4, 1, 2, 3, 1, 4, 2});
      if (i % 4 == 1) chosen.problem.math = Math::strict;
      if (i % 4 == 2) chosen.problem.nonfinite = NonFinite::sparse;
      const VectorCase c(chosen.csr, chosen.problem, seed + i);
      const ops::SpmmQuery query = c.query(on.device.get());
      require_served(c, query);
      check(on, c, i % 2 == 0 ? default_config(query) : random_config(family(), query, field_values(), random));
    }
  }
}

TEST_CASE("sparse_vector: the default config and random configs are right on random shapes and densities") {
  MESSAGE("seed " << seed);
  sparse::Random random(seed);
  for (int i = 0; i < (thread_sanitized ? 2 : 9); ++i) {
    const auto rows = pick<std::int64_t>(random, {1, 2, 15, 33, 70, 140});
    const auto cols = pick<std::int64_t>(random, {1, 2, 31, 33, 64, 147, 300, 448});
    Spmm problem = persistent(1 + random.below(4), static_cast<Dtype>(i % 3), random.below(2) == 0 ? Layout::row_major : Layout::column_major);
    if (random.below(2) == 0) problem.value_lifetime = ValueLifetime::per_call;
    if (random.below(3) == 0) problem.alignment_bytes = size_of(problem.element);
    if (random.below(3) == 0) problem.nonfinite = NonFinite::sparse;
    const double sparsity = pick(random, {0.0, 0.5, 0.8, 0.95});
    const sparse::Csr csr = i % 2 == 0 ? uneven_mask(rows, cols, random.bits()) : sparse::uniform(rows, cols, sparsity, random.bits());
    const VectorCase c(csr, problem, random.bits());
    on_each(c, random, [&](const NamedDevice& on, const FieldMap& config) { check(on, c, config); });
  }
}

TEST_CASE("sparse_vector: full rows, empty matrices, no rows, no columns, and one element are right, with every epilogue's help") {
  const Epilogue everything{.bias = Bias::per_column, .residual = true, .activation = Activation::silu, .scale = Scale::device, .accumulate = true};
  const std::vector<sparse::Csr> matrices = {sparse::uniform(17, 200, 0.0, seed),
                                             {.rows = 1, .cols = 1, .row_offsets = {0, 1}, .column_indices = {0}},
                                             {.rows = 3, .cols = 0, .row_offsets = {0, 0, 0, 0}},
                                             {.rows = 0, .cols = 3},
                                             {.rows = 2, .cols = 70, .row_offsets = {0, 0, 0}},
                                             {.rows = 0, .cols = 0}};
  for (const NamedDevice& on : kernel_devices())
    for (const sparse::Csr& csr : matrices)
      for (const Dtype element : {Dtype::f16, Dtype::f32})
        for (const bool plain : {false, true}) {
          Spmm problem = persistent(3, element);
          problem.batch = 2;
          problem.value_lifetime = plain ? ValueLifetime::persistent : ValueLifetime::per_call;
          if (!plain) problem.epilogue = everything;
          const VectorCase c(csr, problem, seed);
          check(on, c, default_config(c.query(on.device.get())));
        }
}

TEST_CASE("sparse_vector: a choice for several n is right for each of them") {
  sparse::Random random(seed);
  for (const Dtype element : {Dtype::bf16, Dtype::f32})
    for (const std::int64_t n : {1, 2, 3, 4}) {
      VectorCase c(uneven_mask(70, 300, seed), persistent(n, element, n % 2 == 0 ? Layout::row_major : Layout::column_major), seed);
      c.sizes = ops::SizeRange{1, 4, 1};
      const NamedDevice& on = kernel_devices()[static_cast<std::size_t>(n) % kernel_devices().size()];
      check(on, c, default_config(c.query(on.device.get())));
      check(on, c, random_config(family(), c.query(on.device.get()), field_values(), random));
    }
}

TEST_CASE("sparse_vector: the same config gives the same bits in every thread order, with rows that several warps share") {
  for (const std::int64_t n : {1, 3}) {
    const VectorCase c(sparse::uniform(40, 448, 0.3, seed), persistent(n, Dtype::f16), seed);
    const SparseVectorConfig config{
        .columns = n == 1 ? 1 : 4, .dense_rows = 448, .threads = 128, .lanes_per_row = 64, .tile_rows = 8, .min_blocks = 1};
    const std::vector<float> first = run(kernel_devices().front(), c, codegen::to_map(config));
    for (const NamedDevice& on : kernel_devices())
      if (!on.device->info().gpu) CHECK(run(on, c, codegen::to_map(config)) == first);
  }
}

TEST_CASE("sparse_vector: values that are not finite change their own row only") {
  sparse::Random random(seed);
  for (const Dtype element : {Dtype::f16, Dtype::f32}) {
    const VectorCase clean(uneven_mask(40, 190, seed), persistent(2, element), seed);
    VectorCase spoilt = clean;
    std::set<std::int64_t> rows;
    for (std::int64_t r = 3; r < 40; r += 7)
      for (std::int64_t e = clean.host.walked.row_offsets[static_cast<std::size_t>(r)];
           e < clean.host.walked.row_offsets[static_cast<std::size_t>(r) + 1]; e += 3) {
        spoilt.host.values[static_cast<std::size_t>(e)] = e % 2 == 0 ? NAN : e % 4 == 1 ? infinity : -infinity;
        rows.insert(r);
      }
    on_each(clean, random, [&](const NamedDevice& on, const FieldMap& config) {
      INFO(on.name, ", ", to_text(config));
      const std::vector<float> before = run(on, clean, config);
      const std::vector<float> after = run(on, spoilt, config);
      for (std::int64_t r = 0; r < 40; ++r)
        for (std::int64_t j = 0; j < 2; ++j) {
          const auto at = static_cast<std::size_t>(r * 2 + j);
          if (rows.contains(r)) REQUIRE(!std::isfinite(after[at]));
          else REQUIRE(after[at] == before[at]);
        }
    });
  }
}

TEST_CASE("sparse_vector: elements of B that are not finite change their own column only, and under sparse semantics the rows that use them") {
  sparse::Random random(seed);
  for (const Dtype element : {Dtype::bf16, Dtype::f32})
    for (const NonFinite nonfinite : {NonFinite::dense, NonFinite::sparse}) {
      Spmm problem = persistent(3, element);
      problem.nonfinite = nonfinite;
      // Rows with escapes, rows that end within a run, empty rows.
      const VectorCase clean(sparse::uniform(60, 440, 0.93, seed, 0.4), problem, seed);
      VectorCase spoilt = clean;
      for (std::int64_t k = 0; k < 440; k += 9) spoilt.host.dense[static_cast<std::size_t>(k * 3 + 1)] = k % 2 == 0 ? NAN : infinity;
      on_each(clean, random, [&](const NamedDevice& on, const FieldMap& config) {
        INFO(on.name, ", ", to_text(config));
        const std::vector<float> before = run(on, clean, config);
        const std::vector<float> after = run(on, spoilt, config);
        for (std::int64_t r = 0; r < 60; ++r) {
          bool spoils = false;
          for (std::int64_t k = 0; k < 440; k += 9) spoils = spoils || uses(clean.host.walked, r, k);
          for (std::int64_t j = 0; j < 3; ++j) {
            const auto at = static_cast<std::size_t>(r * 3 + j);
            if (j == 1 && spoils) REQUIRE(!std::isfinite(after[at]));
            else if (j != 1 || nonfinite == NonFinite::sparse) REQUIRE(after[at] == before[at]);
          }
        }
      });
    }
}

TEST_CASE("sparse_vector: what a product of a batch holds never reaches another") {
  sparse::Random random(seed);
  for (const ValueLifetime lifetime : {ValueLifetime::per_call, ValueLifetime::persistent}) {
    Spmm problem = persistent(2, Dtype::f16, Layout::column_major);
    problem.batch = 3;
    problem.values_per_batch = true;
    problem.sparse_transposed = true;
    problem.value_lifetime = lifetime;
    problem.epilogue.residual = true;
    const VectorCase clean(uneven_mask(40, 90, seed), problem, seed);
    VectorCase spoilt = clean;
    const auto spoil = [](std::vector<float>& all, std::int64_t stride) {
      for (std::int64_t i = stride; i < 2 * stride; ++i) all[static_cast<std::size_t>(i)] = NAN;
    };
    spoil(spoilt.host.values, spoilt.host.value_stride);
    spoil(spoilt.host.dense, spoilt.host.dense_shape.stride);
    spoil(spoilt.host.residual, spoilt.host.output_shape.stride);
    on_each(clean, random, [&](const NamedDevice& on, const FieldMap& config) {
      INFO(on.name, ", ", to_text(config));
      const std::vector<float> before = run(on, clean, config);
      const std::vector<float> after = run(on, spoilt, config);
      const auto stride = static_cast<std::size_t>(clean.host.output_shape.stride);
      for (std::size_t i = 0; i < before.size(); ++i) {
        if (i / stride == 1) REQUIRE(std::isnan(after[i]));
        else REQUIRE(after[i] == before[i]);
      }
    });
  }
}
