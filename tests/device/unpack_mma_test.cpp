// unpack_mma against float64, on the emulator in several thread orders and on every GPU: every field in every value,
// problems in which every pair of properties occurs, sizes from nothing up, and what must not leak.
#include <algorithm>

#include "config_fields.hpp"
#include "device/packed_trials.hpp"
#include "device/unpack_harness.hpp"
#include "ops/families.hpp"
#include "ops/spmm/unpack_mma.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 20310;

const ops::Family& family() {
  static const std::unique_ptr<ops::Family> made = ops::make_unpack_mma();
  return *made;
}

const FieldValues& field_values() {
  static const FieldValues values = {
      {"mode", {"f16x1", "bf16x1", "f16x3", "bf16x3", "f16_scaled"}},
      {"row_warps", {"1", "2", "4", "8"}},
      {"column_warps", {"1", "2", "4"}},
      {"k_warps", {"1", "2", "4", "8"}},
      {"warp_strips", {"1", "2", "4"}},
      {"warp_columns", {"8", "16", "32", "64", "128"}},
      {"stages", {"2", "3", "4", "5", "8"}},
      {"strip_pairs", {"4", "16", "100", "256", "512"}},
      {"promotion_blocks", {"0", "1", "2", "4"}},
      {"k_split", {"1", "2", "3", "4"}},
      {"prepare_dense", {"false", "true"}},
      {"raster_rows", {"1", "2", "8"}},
      {"min_blocks", {"1", "2", "3"}},
      {"stream_output", {"false", "true"}},
      {"bulk_strips", {"false", "true"}},
      {"stream_strips", {"false", "true"}},
  };
  return values;
}

const Subject<UnpackCase>& subject() {
  static const Subject<UnpackCase> made{
      .family = family(),
      .devices = devices_of(family()),
      .values = field_values(),
      .run = [](const NamedDevice& on, const UnpackCase& c,
                const ops::Config& config) { return run_unpack(*on.device, family(), c, config); },
      .check = [](const NamedDevice& on, const UnpackCase& c,
                  const ops::Config& config) { check_unpack(on, family(), c, config); },
      .slow = true,
      .of_copy_engine = {"bulk_strips", "stream_strips"}};
  return made;
}

}  // namespace

TEST_CASE("unpack_mma: every field of a config is tried in every value, and each gives the right product") {
  require_every_field<UnpackMmaConfig>(field_values());
  std::vector<UnpackCase> cases;
  for (const Dtype element : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
    Spmm problem = persistent(72, element);
    problem.math = Math::tf32;
    cases.emplace_back(uneven_mask(100, 450, seed), problem, seed);
  }
  // A mode of 16-bit elements is that of their type.
  check_every_value(subject(), cases, seed,
                    [](const UnpackCase& c, const std::string& field, const std::string& value) {
                      const Dtype element = c.problem().element;
                      return field != "mode" || element == Dtype::f32 || value == std::string(name(element)) + "x1";
                    });
}

TEST_CASE("unpack_mma: every pair of types, layouts, strides, batches, alignments and epilogues is right") {
  check_paired_problems(subject(), seed, tensor_sizes, [](Spmm&, std::size_t) {});
}

TEST_CASE("unpack_mma: the default config and random configs are right on random shapes, n from 1 to 300") {
  MESSAGE("seed " << seed);
  sparse::Random random(seed);
  for (int i = 0; i < (thread_sanitized ? 2 : 10); ++i) {
    const auto rows = pick<std::int64_t>(random, {1, 2, 15, 16, 17, 33, 70, 140});
    const auto cols = pick<std::int64_t>(random, {1, 2, 63, 64, 65, 147, 300, 600});
    Spmm problem = persistent(1 + random.below(300), static_cast<Dtype>(i % 3),
                              random.below(2) == 0 ? Layout::row_major : Layout::column_major);
    if (random.below(2) == 0) problem.value_lifetime = ValueLifetime::per_call;
    if (random.below(3) == 0) problem.alignment_bytes = size_of(problem.element);
    const UnpackCase c(uneven_mask(rows, cols, random.bits()), problem, random.bits());
    on_each(subject(), static_cast<std::size_t>(i), c, random,
            [&](const NamedDevice& on, const ops::Config& config) { subject().check(on, c, config); });
  }
}

TEST_CASE("unpack_mma: n is right from 1 to 40, at every alignment of B") {
  sparse::Random random(seed + 1);
  for (std::int64_t n = 1; n <= 40; n += thread_sanitized ? 13 : n < 10 ? 1 : 3) {
    Spmm problem = persistent(n, static_cast<Dtype>(n % 3), n % 2 == 0 ? Layout::row_major : Layout::column_major);
    problem.alignment_bytes = std::max(size_of(problem.element), 2 << n % 4);
    const UnpackCase c(sparse::uniform(40, 100 + n, 0.6, random.bits()), problem, random.bits());
    for (const NamedDevice& on : devices_of_turn(subject().devices, static_cast<std::size_t>(n)))
      subject().check(on, c, subject().default_config(on, c));
  }
}

TEST_CASE("unpack_mma: configs of the space are right on a matrix with uneven rows") {
  MESSAGE("seed " << seed);
  sparse::Random random(seed);
  std::size_t turn = 0;
  for (const Dtype element : {Dtype::f16, Dtype::f32})
    for (const std::int64_t n : {16, 100}) {
      const UnpackCase c(uneven_mask(130, 300, seed), persistent(n, element), seed);
      for (int i = 0; i < (thread_sanitized ? 1 : 3); ++i)
        for (const NamedDevice& on : devices_of_turn(subject().devices, turn++))
          subject().check(on, c, subject().space_config(on, c, random));
    }
}

TEST_CASE(
    "unpack_mma: full rows, empty matrices, no rows, no columns, and one element are right, with every epilogue's "
    "help") {
  check_small_matrices(subject(), 5, {Dtype::f16, Dtype::f32}, seed);
}

TEST_CASE("unpack_mma: a choice for several n is right for each of them") {
  sparse::Random random(seed);
  for (const Dtype element : {Dtype::f16, Dtype::f32})
    for (const std::int64_t n : {8, 56, 96}) {
      check_choice(subject(), {uneven_mask(70, 300, seed), persistent(n + 1, element), seed}, {1, 100, 1}, random);
      check_choice(subject(), {uneven_mask(70, 300, seed), persistent(n, element), seed}, {8, 96, 8}, random);
    }
}

TEST_CASE("unpack_mma: strips that do not fit their stage are unpacked from global memory") {
  for (const Dtype element : {Dtype::f16, Dtype::f32})
    for (const int pairs : {4, 200})
      for (const int warp_columns : {8, 64}) {
        const UnpackCase c(uneven_mask(70, 300, seed), persistent(40, element), seed);
        UnpackMmaConfig config{.mode = element == Dtype::f16 ? PackedMode::f16x1 : PackedMode::f16x3,
                               .warp_columns = warp_columns};
        config.strip_pairs = pairs;
        for (const NamedDevice& on : subject().devices) subject().check(on, c, ops::Config::of(config));
      }
}

TEST_CASE(
    "unpack_mma: warps that take k blocks in turn are right with few, with none left, and with strips that do not "
    "fit") {
  sparse::Random random(seed + 2);
  MESSAGE("seed " << seed + 2);
  std::size_t turn = 0;
  for (const Dtype element : {Dtype::f16, Dtype::f32})
    for (const std::int64_t cols : {130, 700})
      for (const int pairs : {16, 512}) {
        const Layout layout = random.below(2) == 0 ? Layout::row_major : Layout::column_major;
        const UnpackCase c(uneven_mask(70, cols, seed), persistent(1 + random.below(40), element, layout), seed);
        const bool wide = element == Dtype::f32;
        const UnpackMmaConfig config{.mode = wide ? PackedMode::f16x3 : PackedMode::f16x1,
                                     .row_warps = 1,
                                     .k_warps = cols > 512 ? 4 : 2,
                                     .warp_strips = 1 << random.below(2),
                                     .warp_columns = 16,
                                     .stages = 3,
                                     .strip_pairs = pairs,
                                     .k_split = cols > 512 ? 2 : 1,  // slices of 6 and 5 blocks for 4 warps
                                     .prepare_dense = wide && random.below(2) == 0};
        for (const NamedDevice& on : devices_of_turn(subject().devices, turn++))
          subject().check(on, c, ops::Config::of(config));
      }
}

TEST_CASE(
    "unpack_mma: strips that come in bulk are right for teams and whole blocks, any number of k blocks, and where they "
    "do not fit") {
  sparse::Random random(seed + 3);
  MESSAGE("seed " << seed + 3);
  std::size_t turn = 0;
  for (const Dtype element : {Dtype::f16, Dtype::bf16, Dtype::f32})
    for (const std::int64_t cols : {40, 64, 130, 700, 2000}) {
      const Layout layout = random.below(2) == 0 ? Layout::row_major : Layout::column_major;
      const UnpackCase c(uneven_mask(130, cols, random.bits()), persistent(1 + random.below(40), element, layout),
                         random.bits());
      for (const NamedDevice& on : devices_of_turn(subject().devices, turn++)) {
        if (subject().lacks(on, c, "bulk_strips", "true")) {
          MESSAGE("skipped: " << on.name << " has no copy engine");
          continue;
        }
        for (const char* const pairs : {"16", "512"}) {
          std::optional<ops::Config> config =
              walk(family(), c.query(on.device.get()), field_values(), random, "bulk_strips", "true");
          REQUIRE(config);
          subject().check(on, c, *config);
          config = with_fields(family(), *config, {{"strip_pairs", pairs}});
          if (!family().forbidden(c.query(on.device.get()), *config)) subject().check(on, c, *config);
        }
      }
    }
}

TEST_CASE("unpack_mma: the same config gives the same bits in every thread order, slices of k included") {
  for (const Dtype element : {Dtype::f16, Dtype::f32}) {
    const UnpackCase c(uneven_mask(70, 700, seed), persistent(36, element), seed);
    const ops::Config standard = subject().default_config(subject().devices.front(), c);
    check_every_order(subject(), c, with_fields(family(), standard, {{"k_split", "3"}}));
    const UnpackMmaConfig in_turn{.mode = element == Dtype::f16 ? PackedMode::f16x1 : PackedMode::f16x3,
                                  .row_warps = 1,
                                  .k_warps = 4,
                                  .warp_strips = 1,
                                  .warp_columns = 16};
    check_every_order(subject(), c, ops::Config::of(in_turn));
  }
}

TEST_CASE("unpack_mma: values that are not finite change their own row only") {
  sparse::Random random(seed);
  std::size_t turn = 0;
  for (const Dtype element : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
    const UnpackCase c(uneven_mask(40, 190, seed), persistent(20, element), seed);
    on_each(subject(), turn++, c, random, [&](const NamedDevice& on, const ops::Config& config) {
      check_rows_stay_apart(subject(), on, c, config, 3);
    });
  }
}

TEST_CASE(
    "unpack_mma: elements of B that are not finite change their own column only, and there every row that uses them") {
  sparse::Random random(seed);
  std::size_t turn = 0;
  for (const Dtype element : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
    const UnpackCase c(uneven_mask(40, 190, seed), persistent(20, element), seed);
    on_each(subject(), turn++, c, random, [&](const NamedDevice& on, const ops::Config& config) {
      check_columns_stay_apart(subject(), on, c, config, false,
                               [](std::int64_t k, std::int64_t j) { return k % 5 == 0 && k % 4 == j; });
    });
  }
}

TEST_CASE("unpack_mma: what a product of a batch holds never reaches another") {
  sparse::Random random(seed);
  std::size_t turn = 0;
  for (const Dtype element : {Dtype::bf16, Dtype::f32})
    for (const ValueLifetime lifetime : {ValueLifetime::per_call, ValueLifetime::persistent}) {
      const UnpackCase c(uneven_mask(40, 90, seed), three_products(12, element, lifetime), seed);
      on_each(subject(), turn++, c, random, [&](const NamedDevice& on, const ops::Config& config) {
        check_products_stay_apart(subject(), on, c, config);
      });
    }
}
