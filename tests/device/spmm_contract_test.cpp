// The contract of SpMM, for every family that serves a problem: see contract.hpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <utility>

#include "device/contract.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

/// Operands that a test chose, as their type holds them. C is stored as f32.
struct Product {
  static constexpr const char* operation = "spmm";
  sparse::Csr mask;  ///< A's
  std::vector<float> values;
  std::vector<float> dense;  ///< [cols, n]
  std::int64_t n = 0;
  Dtype element = Dtype::f32;
  Math math = Math::accurate;

  /// Tensor-core families certify their sums for it.
  Spmm problem() const {
    return {.n = n,
            .element = element,
            .output = Dtype::f32,
            .math = math,
            .nonfinite = NonFinite::sparse,
            .value_lifetime = ValueLifetime::persistent};
  }
  std::int64_t longest() const {
    return sparse::statistics(mask.rows, mask.cols, mask.row_offsets, mask.column_indices).longest_row;
  }
};

Product product(sparse::Csr mask, std::int64_t n, const Distribution& from, std::uint64_t seed,
                Dtype element = Dtype::f32) {
  std::vector<float> values = held(element, drawn(from, mask.nonzeros(), seed));
  std::vector<float> dense = held(element, drawn(from, mask.cols * n, seed + 1));
  return {.mask = std::move(mask), .values = std::move(values), .dense = std::move(dense), .n = n, .element = element};
}

std::vector<ExactSum> exact(const Product& of) {
  std::vector<ExactSum> sums(static_cast<std::size_t>(of.mask.rows * of.n));
  for (std::int64_t row = 0; row < of.mask.rows; ++row)
    for (std::int64_t entry = of.mask.row_offsets[row]; entry < of.mask.row_offsets[row + 1]; ++entry)
      for (std::int64_t column = 0; column < of.n; ++column)
        sums[row * of.n + column].add(of.values[entry], of.dense[of.mask.column_indices[entry] * of.n + column]);
  return sums;
}

std::vector<float> run(const Context& context, const Product& of, const Topology& topology, const std::string& family) {
  device::Device& device = device_of(context);
  const SpmmPlan plan = context.plan(of.problem(), topology, {.effort = Effort::heuristic, .family = family});
  const device::Buffer values = stored(device, of.element, of.values), dense = stored(device, of.element, of.dense);
  const Floats output(device, std::vector<float>(static_cast<std::size_t>(of.mask.rows * of.n),
                                                 std::numeric_limits<float>::quiet_NaN()));
  const PackedValues packed = plan.pack(nullptr, values.data());
  const Workspace workspace = plan.make_workspace();
  plan.execute(device.own_stream(),
               {.packed = packed, .dense = dense.data(), .output = output.data(), .workspace = workspace});
  device.synchronize(device.own_stream());
  return output.read();
}

/// Each row of B times its factor, and each column of A over it: the product stays.
void spread(Product& of, const std::vector<float>& factors) {
  for (std::size_t entry = 0; entry < of.values.size(); ++entry)
    of.values[entry] /= factors[of.mask.column_indices[entry]];
  for (std::size_t i = 0; i < of.dense.size(); ++i) of.dense[i] *= factors[i / of.n];
}

const Distribution& normal() { return ordinary_distributions().front(); }

/// Rows of B over so many decades, and columns of A that make up for them.
Product compensated(double decades, std::uint64_t seed) {
  Product of = product(sparse::uniform(48, 320, 0.8, seed), 24, normal(), seed);
  sparse::Random random(seed);
  std::vector<float> factors(320);
  for (float& factor : factors) factor = std::fabs(log_uniform(random, decades));
  spread(of, factors);
  return of;
}

}  // namespace

TEST_CASE("ordinary operands: every element of a product errs by at most 2^-19 of its magnitudes, by every family") {
  if (left_to_other_builds()) return;
  constexpr std::uint64_t seed = 3401;
  MESSAGE("seed " << seed);
  const EveryDevice devices;
  for (const std::int64_t n : {40, 2})
    for (const Dtype element : element_types)
      for (const Distribution& from : ordinary_distributions()) {
        CAPTURE(from.name);
        CAPTURE(name(element));
        check_every_family(devices, product(sparse::uniform(48, 700, 0.8, seed), n, from, seed, element),
                           ordinary_units);
      }
}

TEST_CASE("wide operands: every element of a product errs by at most 2^-16 of its magnitudes") {
  if (left_to_other_builds()) return;
  constexpr std::uint64_t seed = 3402;
  MESSAGE("seed " << seed);
  const EveryDevice devices;
  for (const Distribution& from : wide_distributions())
    for (const double sparsity : {0.5, 0.98}) {
      CAPTURE(from.name);
      check_every_family(devices, product(sparse::uniform(48, 700, sparsity, seed), 24, from, seed), most_units);
    }
}

TEST_CASE("rows of B and columns of A that make up for each other leave the bound as it is, over 6 to 30 decades") {
  if (left_to_other_builds()) return;
  constexpr std::uint64_t seed = 3403;
  MESSAGE("seed " << seed);
  const EveryDevice devices;
  for (const double decades : {6.0, 12.0, 30.0}) {
    CAPTURE(decades);
    check_every_family(devices, compensated(decades, seed), most_units);
  }
}

TEST_CASE("rows that name only what is far smaller than its neighbours err by no more") {
  if (left_to_other_builds()) return;
  constexpr std::uint64_t seed = 3404;
  MESSAGE("seed " << seed);
  const EveryDevice devices;
  for (const float small : {1e-6F, 1e-12F, 0x1p-28F}) {  // every second row of B; odd rows of A name these alone
    CAPTURE(small);
    Product of = product(sparse::uniform(48, 320, 0.7, seed), 24, normal(), seed);
    for (std::int64_t row = 1; row < of.mask.rows; row += 2)
      for (std::int64_t entry = of.mask.row_offsets[row]; entry < of.mask.row_offsets[row + 1]; ++entry)
        if (of.mask.column_indices[entry] % 2 == 0) of.values[entry] = 0;
    for (std::size_t i = 0; i < of.dense.size(); ++i)
      if (i / of.n % 2 == 1) of.dense[i] *= small;
    check_every_family(devices, of, most_units);
  }
}

TEST_CASE("what B holds in rows that A does not name touches nothing: NaN, infinities, numbers of any size") {
  if (left_to_other_builds()) return;
  constexpr std::uint64_t seed = 3405;
  MESSAGE("seed " << seed);
  const EveryDevice devices;
  sparse::Csr mask = sparse::uniform(48, 320, 0.8, seed);
  for (std::int32_t& column : mask.column_indices) column -= column % 4 == 3 ? 1 : 0;  // none names every fourth row
  for (const float held_there :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e30F, 3e38F})
    for (const Dtype element : element_types) {
      CAPTURE(held_there);
      CAPTURE(name(element));
      Product of = product(mask, 24, normal(), seed, element);
      for (std::size_t i = 0; i < of.dense.size(); ++i)
        if (i / of.n % 4 == 3) of.dense[i] = held_there;
      of.dense = held(element, of.dense);
      check_every_family(devices, of, ordinary_units);
    }
}

TEST_CASE("what is not finite and named gives what IEEE's sum gives, and stays in its row of A and column of B") {
  if (left_to_other_builds()) return;
  constexpr std::uint64_t seed = 3406;
  MESSAGE("seed " << seed);
  const EveryDevice devices;
  for (const Dtype element : element_types) {
    CAPTURE(name(element));
    Product of = product(sparse::uniform(48, 320, 0.8, seed), 24, normal(), seed, element);
    of.values[of.mask.row_offsets[3]] = std::numeric_limits<float>::infinity();
    of.values[of.mask.row_offsets[7]] = std::numeric_limits<float>::quiet_NaN();
    of.dense[of.mask.column_indices[of.mask.row_offsets[11]] * of.n + 5] = -std::numeric_limits<float>::infinity();
    of.dense[of.mask.column_indices[of.mask.row_offsets[20]] * of.n + 9] = std::numeric_limits<float>::quiet_NaN();
    of.values[of.mask.row_offsets[30]] = 0;  // a zero that A names, times infinity
    of.dense[of.mask.column_indices[of.mask.row_offsets[30]] * of.n + 11] = std::numeric_limits<float>::infinity();
    check_every_family(devices, of, ordinary_units);
  }
}

TEST_CASE("under tf32 every element of a product errs by at most 2^-9 of its magnitudes, whatever the operands") {
  if (left_to_other_builds()) return;
  constexpr std::uint64_t seed = 3409;
  constexpr double units = 1024;  // 2^-9
  MESSAGE("seed " << seed);
  const EveryDevice devices;
  const auto check = [&](Product of) {
    of.math = Math::tf32;
    check_every_family(devices, of, units);
  };
  for (const Distribution& from : wide_distributions()) {
    CAPTURE(from.name);
    check(product(sparse::uniform(48, 700, 0.8, seed), 24, from, seed));
  }
  for (const double decades : {6.0, 12.0, 30.0}) {
    CAPTURE(decades);
    check(compensated(decades, seed));
  }
  Product of = product(sparse::uniform(48, 320, 0.8, seed), 24, normal(), seed);
  of.values[of.mask.row_offsets[3]] = std::numeric_limits<float>::infinity();
  of.dense[of.mask.column_indices[of.mask.row_offsets[20]] * of.n + 9] = std::numeric_limits<float>::quiet_NaN();
  check(of);
  check(product(sparse::uniform(2, 65536, 0, seed), 8, normal(), seed));
}

TEST_CASE("rows of 65,536 elements keep the bound, and products that are built to round one way") {
  if (left_to_other_builds()) return;
  constexpr std::uint64_t seed = 3407;
  MESSAGE("seed " << seed);
  const EveryDevice devices;
  check_every_family(devices, product(sparse::uniform(2, 65536, 0, seed), 8, normal(), seed), ordinary_units);
  // 1, then 127 products that are just not half of its last place: each is lost to a plain sum. Then the same with
  // halves.
  for (const float term : {0x1p-26F * (2 - 0x1p-10F), 0x1.fffc18p-25F}) {
    CAPTURE(term);
    Product of = product(sparse::uniform(4, 4096, 0, seed), 8, normal(), seed);
    for (std::size_t entry = 0; entry < of.values.size(); ++entry) of.values[entry] = entry % 128 == 0 ? 1 : term;
    std::fill(of.dense.begin(), of.dense.end(), 1.0F);
    check_every_family(devices, of, most_units);
  }
  // Every partial sum of a block rounds the same way.
  Product of = product(sparse::uniform(4, 4096, 0, seed), 8, normal(), seed);
  std::fill(of.values.begin(), of.values.end(), 1.0F);
  std::fill(of.dense.begin(), of.dense.end(), std::bit_cast<float>(0x3ffe0c80));
  check_every_family(devices, of, most_units);
}

TEST_CASE("a search for the worst scales of rows of B finds none that break the bound") {
  if (left_to_other_builds()) return;
  const std::uint64_t seed = std::random_device{}();
  MESSAGE("seed " << seed);
  const EveryDevice devices;
  sparse::Random random(seed);
  const sparse::Csr mask = sparse::uniform(16, 512, 0.5, 3408);
  std::vector<double> exponents(512, 0.0);
  double worst = 0;
  for (int step = 0; step < 24; ++step) {
    std::vector<double> moved = exponents;
    for (double& exponent : moved)
      if (random.uniform() < 0.1) exponent += 10 * random.normal();
    Product of = product(mask, 16, normal(), random.bits());
    for (std::size_t i = 0; i < of.dense.size(); ++i)
      of.dense[i] *= static_cast<float>(std::exp2(std::clamp(moved[i / of.n], -60.0, 60.0)));
    const double found = check_every_family(devices, of, most_units);
    if (found < worst) continue;
    worst = found;
    exponents = moved;
  }
}
