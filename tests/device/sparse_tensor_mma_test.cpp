// sparse_tensor_mma against float64, on the emulator in several thread orders
// and on every GPU: every field in every value, problems in which every pair of
// properties occurs, sizes from nothing up, and what must not leak.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "codegen/fields.hpp"
#include "device/config_walk.hpp"
#include "device/pairwise.hpp"
#include "device/problem_levels.hpp"
#include "device/sparse_tensor_harness.hpp"
#include "ops/spmm/sparse_tensor_mma.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 20424;

const ops::Family& family() {
  static const std::unique_ptr<ops::Family> made = ops::make_sparse_tensor_mma();
  return *made;
}

/// The devices that the family runs on: a GPU may be too old.
const std::vector<NamedDevice>& devices() {
  static const std::vector<NamedDevice> list = [] {
    std::vector<NamedDevice> found;
    for (const NamedDevice& on : kernel_devices()) {
      if (family().runs_on(on.device->architecture())) found.push_back(on);
      else MESSAGE("sparse_tensor_mma skipped on " << on.name << ": it needs sm_80");
    }
    return found;
  }();
  return list;
}

const FieldValues& field_values() {
  static const FieldValues values = {
      {"row_warps", {"1", "2", "4"}},   {"column_warps", {"1", "2", "4"}},
      {"warp_strips", {"1", "2", "4"}}, {"warp_columns", {"8", "16", "32", "64"}},
      {"stages", {"2", "3", "5"}},      {"strip_passes", {"1", "2", "3", "4"}},
      {"k_split", {"1", "2", "3"}},     {"raster_rows", {"1", "2", "8"}},
      {"min_blocks", {"1", "2"}},       {"stream_output", {"false", "true"}},
  };
  return values;
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
void require_served(const SparseCase& c, const ops::SpmmQuery& query) {
  REQUIRE(family().declines(query).value_or("") == (c.host.walked.nonzeros() == 0 ? "A has no nonzeros" : ""));
}

/// Every GPU; of the emulator's orders of threads the one whose turn it is.
std::vector<NamedDevice> devices_of_turn(std::size_t turn) {
  std::vector<NamedDevice> list;
  for (std::size_t i = 0; i < devices().size(); ++i)
    if (devices()[i].device->info().gpu || i == turn % devices().size()) list.push_back(devices()[i]);
  return list;
}

/// body(on, config) for the default and a random config of each of these.
void on_each(const std::vector<NamedDevice>& list, const SparseCase& c, sparse::Random& random,
             const std::function<void(const NamedDevice&, const FieldMap&)>& body) {
  for (const NamedDevice& on : list) {
    const ops::SpmmQuery query = c.query(on.device.get());
    require_served(c, query);
    body(on, default_config(query));
    body(on, random_config(family(), query, field_values(), random));
  }
}

}  // namespace

TEST_CASE("sparse_tensor_mma: every field of a config is tried in every value, and each gives the right product") {
  std::set<std::string> fields, tried;
  for (const auto& [field, value] : codegen::to_map(SparseTensorMmaConfig{})) fields.insert(field);
  for (const auto& [field, values] : field_values()) tried.insert(field);
  REQUIRE(fields == tried);

  const std::vector<SparseCase> cases = {{uneven_mask(100, 450, seed), persistent(72, Dtype::f16), seed},
                                         {sparse::uniform(70, 300, 0.9, seed), persistent(40, Dtype::bf16), seed}};
  for (const bool gpu : {false, true}) {
    std::set<std::pair<std::string, std::string>> seen;
    sparse::Random random(seed);
    std::size_t turn = 0;
    for (const auto& [field, values] : field_values())
      for (const std::string& value : values)
        for (const NamedDevice& on : devices_of_turn(turn)) {
          if (on.device->info().gpu != gpu || seen.contains({field, value})) continue;
          if (thread_sanitized && value != values.front()) continue;
          INFO(field, " = ", value);
          for (const SparseCase& c : cases) {
            const std::optional<FieldMap> config = walk(family(), c.query(on.device.get()), field_values(), random, field, value);
            if (!config) continue;
            seen.insert(config->begin(), config->end());
            check_sparse(on, family(), c, *config);
            break;
          }
          CHECK(seen.contains({field, value}));
          ++turn;
        }
  }
}

TEST_CASE("sparse_tensor_mma: every pair of types, layouts, strides, batches, alignments and epilogues is right") {
  MESSAGE("seed " << seed);
  Levels counting(nullptr);
  choose_tensor_problem(counting, seed);
  std::vector<std::vector<int>> rows = pairwise(counting.counts(), seed);
  CHECK(rows.size() >= 30);
  if (thread_sanitized) {
    MESSAGE("skipped: all but 4 of " << rows.size() << " problems, which take ThreadSanitizer too long");
    rows.resize(4);
  }
  sparse::Random random(seed);
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const NamedDevice& on : devices_of_turn(i)) {
      Levels levels(&rows[i]);
      LevelledProblem chosen = choose_tensor_problem(levels, seed);
      if (chosen.problem.element == Dtype::f32) {
        chosen.problem.element = i % 2 == 0 ? Dtype::f16 : Dtype::bf16;
        chosen.problem.alignment_bytes = std::max(chosen.problem.alignment_bytes, size_of(*chosen.problem.output));
      }
      const SparseCase c(chosen.csr, chosen.problem, seed + i);
      const ops::SpmmQuery query = c.query(on.device.get());
      require_served(c, query);
      check_sparse(on, family(), c, i % 2 == 0 ? default_config(query) : random_config(family(), query, field_values(), random));
    }
}

TEST_CASE("sparse_tensor_mma: the default config and random configs are right on random shapes, n from 1 to 300") {
  MESSAGE("seed " << seed);
  sparse::Random random(seed);
  for (int i = 0; i < (thread_sanitized ? 2 : 5); ++i) {
    const auto rows = pick<std::int64_t>(random, {1, 2, 15, 16, 17, 33, 70, 140});
    const auto cols = pick<std::int64_t>(random, {1, 2, 31, 33, 64, 65, 147, 300, 600});
    Spmm problem =
        persistent(1 + random.below(300), i % 2 == 0 ? Dtype::f16 : Dtype::bf16, random.below(2) == 0 ? Layout::row_major : Layout::column_major);
    if (random.below(2) == 0) problem.value_lifetime = ValueLifetime::per_call;
    if (random.below(3) == 0) problem.alignment_bytes = size_of(Dtype::f32);
    const SparseCase c(uneven_mask(rows, cols, random.bits()), problem, random.bits());
    on_each(devices_of_turn(static_cast<std::size_t>(i)), c, random,
            [&](const NamedDevice& on, const FieldMap& config) { check_sparse(on, family(), c, config); });
  }
}

TEST_CASE("sparse_tensor_mma: n is right from 1 to 40, at every alignment of B") {
  sparse::Random random(seed + 1);
  for (std::int64_t n = 1; n <= 40; n += thread_sanitized ? 13 : n < 10 ? 1 : 5) {
    Spmm problem = persistent(n, n % 3 == 0 ? Dtype::f16 : Dtype::bf16, n % 2 == 0 ? Layout::row_major : Layout::column_major);
    problem.output = problem.element;
    problem.alignment_bytes = 2 << n % 4;
    const SparseCase c(sparse::uniform(40, 100 + n, 0.9, random.bits()), problem, random.bits());
    const NamedDevice& on = devices()[static_cast<std::size_t>(n) % devices().size()];
    check_sparse(on, family(), c, default_config(c.query(on.device.get())));
  }
}

TEST_CASE("sparse_tensor_mma: full rows, empty tiles, empty matrices, no rows, no columns, and one element are right, with every epilogue's help") {
  const Epilogue everything{.bias = Bias::per_column, .residual = true, .activation = Activation::silu, .scale = Scale::device, .accumulate = true};
  sparse::Csr full{.rows = 17, .cols = 200};
  for (std::int32_t r = 0; r < 17; ++r) {
    for (std::int32_t k = 0; k < 200; ++k) full.column_indices.push_back(k);
    full.row_offsets.push_back(full.nonzeros());
  }
  // Only the second step of the second k block, and only the third strip, has
  // anything.
  sparse::Csr lonely{.rows = 70, .cols = 130, .row_offsets = std::vector<std::int64_t>(71, 0), .column_indices = {100, 101, 102}};
  std::fill(lonely.row_offsets.begin() + 41, lonely.row_offsets.end(), 3);
  const std::vector<sparse::Csr> matrices = {full,
                                             lonely,
                                             {.rows = 1, .cols = 1, .row_offsets = {0, 1}, .column_indices = {0}},
                                             {.rows = 3, .cols = 0, .row_offsets = {0, 0, 0, 0}},
                                             {.rows = 0, .cols = 3},
                                             {.rows = 2, .cols = 70, .row_offsets = {0, 0, 0}},
                                             {.rows = 0, .cols = 0}};
  for (const NamedDevice& on : devices())
    for (const sparse::Csr& csr : matrices)
      for (const bool plain : {false, true}) {
        Spmm problem = persistent(5, plain ? Dtype::f16 : Dtype::bf16);
        problem.batch = 2;
        if (!plain) problem.value_lifetime = ValueLifetime::per_call;
        if (!plain) problem.epilogue = everything;
        const SparseCase c(csr, problem, seed);
        check_sparse(on, family(), c, default_config(c.query(on.device.get())));
      }
}

TEST_CASE("sparse_tensor_mma: a choice for several n is right for each of them") {
  sparse::Random random(seed);
  for (const ops::SizeRange sizes : {ops::SizeRange{1, 100, 1}, ops::SizeRange{8, 96, 8}})
    for (const std::int64_t n : {8, 56, 96}) {
      SparseCase c(uneven_mask(70, 300, seed), persistent(n + (sizes.multiple == 1 ? 1 : 0), Dtype::f16), seed);
      c.sizes = sizes;
      const NamedDevice& on = devices()[static_cast<std::size_t>(n) % devices().size()];
      check_sparse(on, family(), c, default_config(c.query(on.device.get())));
      check_sparse(on, family(), c, random_config(family(), c.query(on.device.get()), field_values(), random));
    }
}

TEST_CASE("sparse_tensor_mma: strips that do not fit their stage are read from global memory") {
  for (const int passes : {1, 2, 3})
    for (const int warp_columns : {8, 64}) {
      const SparseCase c(uneven_mask(70, 300, seed), persistent(40, Dtype::f16), seed);
      const SparseTensorMmaConfig config{
          .row_warps = 2, .column_warps = 1, .warp_strips = 2, .warp_columns = warp_columns, .stages = 2, .strip_passes = passes};
      for (const NamedDevice& on : devices_of_turn(static_cast<std::size_t>(passes + warp_columns / 8)))
        check_sparse(on, family(), c, codegen::to_map(config));
    }
}

TEST_CASE("sparse_tensor_mma: the same config gives the same bits in every thread order, slices of k included") {
  const SparseCase c(uneven_mask(70, 700, seed), persistent(36, Dtype::bf16), seed);
  FieldMap config = default_config(c.query(devices().front().device.get()));
  config["k_split"] = "3";
  const std::vector<float> first = run_sparse(*devices()[0].device, family(), c, config);
  for (const NamedDevice& on : devices())
    if (!on.device->info().gpu) CHECK(run_sparse(*on.device, family(), c, config) == first);
}

TEST_CASE("sparse_tensor_mma: values that are not finite change their own row only") {
  const float infinity = std::numeric_limits<float>::infinity();
  sparse::Random random(seed);
  for (const Dtype element : {Dtype::f16, Dtype::bf16}) {
    const SparseCase clean(uneven_mask(40, 190, seed), persistent(20, element), seed);
    SparseCase spoilt = clean;
    std::set<std::int64_t> rows;
    for (std::int64_t r = 3; r < 40; r += 7)
      for (std::int64_t e = clean.host.walked.row_offsets[static_cast<std::size_t>(r)];
           e < clean.host.walked.row_offsets[static_cast<std::size_t>(r) + 1]; e += 3) {
        spoilt.host.values[static_cast<std::size_t>(e)] = e % 2 == 0 ? NAN : e % 4 == 1 ? infinity : -infinity;
        rows.insert(r);
      }
    on_each(devices_of_turn(random.bits() % 5), clean, random, [&](const NamedDevice& on, const FieldMap& config) {
      INFO(on.name, ", ", to_text(config));
      const std::vector<float> before = run_sparse(*on.device, family(), clean, config);
      const std::vector<float> after = run_sparse(*on.device, family(), spoilt, config);
      for (std::int64_t r = 0; r < 40; ++r)
        for (std::int64_t j = 0; j < 20; ++j) {
          const auto at = static_cast<std::size_t>(r * 20 + j);
          if (rows.contains(r)) REQUIRE(!std::isfinite(after[at]));
          else REQUIRE(after[at] == before[at]);
        }
    });
  }
}

TEST_CASE("sparse_tensor_mma: elements of B that are not finite change their own column only, and there every row that uses them") {
  sparse::Random random(seed);
  const SparseCase clean(uneven_mask(40, 190, seed), persistent(20, Dtype::f16), seed);
  SparseCase spoilt = clean;
  for (std::int64_t k = 0; k < 190; k += 5)
    spoilt.host.dense[static_cast<std::size_t>(k * 20 + k % 4)] = k % 2 == 0 ? NAN : std::numeric_limits<float>::infinity();
  on_each(devices_of_turn(random.bits() % 5), clean, random, [&](const NamedDevice& on, const FieldMap& config) {
    INFO(on.name, ", ", to_text(config));
    const std::vector<float> before = run_sparse(*on.device, family(), clean, config);
    const std::vector<float> after = run_sparse(*on.device, family(), spoilt, config);
    const sparse::Csr& a = clean.host.walked;
    for (std::int64_t r = 0; r < 40; ++r) {
      const std::set<std::int32_t> columns(a.column_indices.begin() + a.row_offsets[static_cast<std::size_t>(r)],
                                           a.column_indices.begin() + a.row_offsets[static_cast<std::size_t>(r) + 1]);
      for (std::int64_t j = 0; j < 20; ++j) {
        const auto at = static_cast<std::size_t>(r * 20 + j);
        if (j >= 4) REQUIRE(after[at] == before[at]);
        else if (std::any_of(columns.begin(), columns.end(), [&](std::int32_t k) { return k % 5 == 0 && k % 4 == j; }))
          REQUIRE(!std::isfinite(after[at]));
      }
    }
  });
}

TEST_CASE("sparse_tensor_mma: what a product of a batch holds never reaches another") {
  sparse::Random random(seed);
  for (const ValueLifetime lifetime : {ValueLifetime::per_call, ValueLifetime::persistent}) {
    Spmm problem = persistent(12, Dtype::bf16, Layout::column_major);
    problem.batch = 3;
    problem.values_per_batch = true;
    problem.sparse_transposed = true;
    problem.value_lifetime = lifetime;
    problem.epilogue.residual = true;
    const SparseCase clean(uneven_mask(40, 90, seed), problem, seed);
    SparseCase spoilt = clean;
    const auto spoil = [](std::vector<float>& all, std::int64_t stride) {
      for (std::int64_t i = stride; i < 2 * stride; ++i) all[static_cast<std::size_t>(i)] = NAN;
    };
    spoil(spoilt.host.values, spoilt.host.value_stride);
    spoil(spoilt.host.dense, spoilt.host.dense_shape.stride);
    spoil(spoilt.host.residual, spoilt.host.output_shape.stride);
    on_each(devices_of_turn(random.bits() % 5), clean, random, [&](const NamedDevice& on, const FieldMap& config) {
      INFO(on.name, ", ", to_text(config));
      const std::vector<float> before = run_sparse(*on.device, family(), clean, config);
      const std::vector<float> after = run_sparse(*on.device, family(), spoilt, config);
      const auto stride = static_cast<std::size_t>(clean.host.output_shape.stride);
      for (std::size_t i = 0; i < before.size(); ++i) {
        if (i / stride == 1) REQUIRE(std::isnan(after[i]));
        else REQUIRE(after[i] == before[i]);
      }
    });
  }
}
