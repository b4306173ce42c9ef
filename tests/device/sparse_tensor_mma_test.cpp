// sparse_tensor_mma against float64, on the emulator in several thread orders
// and on every GPU: every field in every value, problems in which every pair of
// properties occurs, sizes from nothing up, and what must not leak.
#include <algorithm>

#include <abi/sparse_tensor_mma.h>
#include "config_fields.hpp"
#include "device/packed_trials.hpp"
#include "device/sparse_tensor_harness.hpp"
#include "ops/families.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 20424;

const ops::Family& family() {
  static const std::unique_ptr<ops::Family> made = ops::make_sparse_tensor_mma();
  return *made;
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

const Subject<SparseCase>& subject() {
  static const Subject<SparseCase> made{
      .family = family(),
      .devices = devices_of(family()),
      .values = field_values(),
      .run = [](const NamedDevice& on, const SparseCase& c,
                const ops::Config& config) { return run_sparse(*on.device, family(), c, config); },
      .check = [](const NamedDevice& on, const SparseCase& c,
                  const ops::Config& config) { check_sparse(on, family(), c, config); },
      .slow = true};
  return made;
}

}  // namespace

TEST_CASE("sparse_tensor_mma: every field of a config is tried in every value, and each gives the right product") {
  require_every_field<SparseTensorMmaConfig>(field_values());
  const std::vector<SparseCase> cases = {{uneven_mask(100, 450, seed), persistent(72, Dtype::f16), seed},
                                         {sparse::uniform(70, 300, 0.9, seed), persistent(40, Dtype::bf16), seed}};
  check_every_value(subject(), cases, seed);
}

TEST_CASE("sparse_tensor_mma: every pair of types, layouts, strides, batches, alignments and epilogues is right") {
  check_paired_problems(subject(), seed, tensor_sizes, [](Spmm& problem, std::size_t i) {
    if (problem.element != Dtype::f32) return;
    problem.element = i % 2 == 0 ? Dtype::f16 : Dtype::bf16;
    problem.alignment_bytes = std::max(problem.alignment_bytes, size_of(*problem.output));
  });
}

TEST_CASE("sparse_tensor_mma: the default config and random configs are right on random shapes, n from 1 to 300") {
  MESSAGE("seed " << seed);
  sparse::Random random(seed);
  for (int i = 0; i < (thread_sanitized ? 2 : 5); ++i) {
    const auto rows = pick<std::int64_t>(random, {1, 2, 15, 16, 17, 33, 70, 140});
    const auto cols = pick<std::int64_t>(random, {1, 2, 31, 33, 64, 65, 147, 300, 600});
    Spmm problem = persistent(1 + random.below(300), i % 2 == 0 ? Dtype::f16 : Dtype::bf16,
                              random.below(2) == 0 ? Layout::row_major : Layout::column_major);
    if (random.below(2) == 0) problem.value_lifetime = ValueLifetime::per_call;
    if (random.below(3) == 0) problem.alignment_bytes = size_of(Dtype::f32);
    const SparseCase c(uneven_mask(rows, cols, random.bits()), problem, random.bits());
    on_each(subject(), static_cast<std::size_t>(i), c, random,
            [&](const NamedDevice& on, const ops::Config& config) { subject().check(on, c, config); });
  }
}

TEST_CASE("sparse_tensor_mma: n is right from 1 to 40, at every alignment of B") {
  sparse::Random random(seed + 1);
  for (std::int64_t n = 1; n <= 40; n += thread_sanitized ? 13 : n < 10 ? 1 : 5) {
    Spmm problem =
        persistent(n, n % 3 == 0 ? Dtype::f16 : Dtype::bf16, n % 2 == 0 ? Layout::row_major : Layout::column_major);
    problem.output = problem.element;
    problem.alignment_bytes = 2 << n % 4;
    const SparseCase c(sparse::uniform(40, 100 + n, 0.9, random.bits()), problem, random.bits());
    for (const NamedDevice& on : devices_of_turn(subject().devices, static_cast<std::size_t>(n)))
      subject().check(on, c, subject().default_config(on, c));
  }
}

TEST_CASE(
    "sparse_tensor_mma: full rows, empty tiles, empty matrices, no rows, no columns, and one element are right, with "
    "every epilogue's help") {
  // Only the second step of the second k block, and only the third strip, has anything.
  sparse::Csr lonely{
      .rows = 70, .cols = 130, .row_offsets = std::vector<std::int64_t>(71, 0), .column_indices = {100, 101, 102}};
  std::fill(lonely.row_offsets.begin() + 41, lonely.row_offsets.end(), 3);
  check_small_matrices(subject(), 5, {Dtype::f16, Dtype::bf16}, seed, {lonely});
}

TEST_CASE("sparse_tensor_mma: a choice for several n is right for each of them") {
  sparse::Random random(seed);
  for (const std::int64_t n : {8, 56, 96}) {
    check_choice(subject(), {uneven_mask(70, 300, seed), persistent(n + 1, Dtype::f16), seed}, {1, 100, 1}, random);
    check_choice(subject(), {uneven_mask(70, 300, seed), persistent(n, Dtype::f16), seed}, {8, 96, 8}, random);
  }
}

TEST_CASE("sparse_tensor_mma: strips that do not fit their stage are read from global memory") {
  for (const int passes : {1, 2, 3})
    for (const int warp_columns : {8, 64}) {
      const SparseCase c(uneven_mask(70, 300, seed), persistent(40, Dtype::f16), seed);
      const SparseTensorMmaConfig config{.row_warps = 2,
                                         .column_warps = 1,
                                         .warp_strips = 2,
                                         .warp_columns = warp_columns,
                                         .stages = 2,
                                         .strip_passes = passes};
      const int turn = passes + warp_columns / 8;
      for (const NamedDevice& on : devices_of_turn(subject().devices, static_cast<std::size_t>(turn)))
        subject().check(on, c, ops::Config::of(config));
    }
}

TEST_CASE("sparse_tensor_mma: the same config gives the same bits in every thread order, slices of k included") {
  const SparseCase c(uneven_mask(70, 700, seed), persistent(36, Dtype::bf16), seed);
  const ops::Config standard = subject().default_config(subject().devices.front(), c);
  check_every_order(subject(), c, with_fields(family(), standard, {{"k_split", "3"}}));
}

TEST_CASE("sparse_tensor_mma: values that are not finite change their own row only") {
  sparse::Random random(seed);
  std::size_t turn = 0;
  for (const Dtype element : {Dtype::f16, Dtype::bf16}) {
    const SparseCase c(uneven_mask(40, 190, seed), persistent(20, element), seed);
    on_each(subject(), turn++, c, random, [&](const NamedDevice& on, const ops::Config& config) {
      check_rows_stay_apart(subject(), on, c, config, 3);
    });
  }
}

TEST_CASE(
    "sparse_tensor_mma: elements of B that are not finite change their own column only, and there every row that uses "
    "them") {
  sparse::Random random(seed);
  const SparseCase c(uneven_mask(40, 190, seed), persistent(20, Dtype::f16), seed);
  on_each(subject(), 2, c, random, [&](const NamedDevice& on, const ops::Config& config) {
    check_columns_stay_apart(subject(), on, c, config, false,
                             [](std::int64_t k, std::int64_t j) { return k % 5 == 0 && k % 4 == j; });
  });
}

TEST_CASE("sparse_tensor_mma: what a product of a batch holds never reaches another") {
  sparse::Random random(seed);
  std::size_t turn = 0;
  for (const ValueLifetime lifetime : {ValueLifetime::per_call, ValueLifetime::persistent}) {
    const SparseCase c(uneven_mask(40, 90, seed), three_products(12, Dtype::bf16, lifetime), seed);
    on_each(subject(), turn++, c, random, [&](const NamedDevice& on, const ops::Config& config) {
      check_products_stay_apart(subject(), on, c, config);
    });
  }
}
