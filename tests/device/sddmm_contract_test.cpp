// The contract of SDDMM, for every family that serves a problem: see contract.hpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "device/contract.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

/// Operands that a test chose, as their type holds them. D is stored as f32.
struct Sampled {
  static constexpr const char* operation = "sddmm";
  sparse::Csr mask;
  std::vector<float> lhs, rhs;  ///< [rows, n], [cols, n]
  std::int64_t n = 0;
  Dtype element = Dtype::f32;

  Sddmm problem() const { return {.n = n, .element = element, .output = Dtype::f32, .nonfinite = NonFinite::sparse}; }
  std::int64_t longest() const { return n; }
};

Sampled sampled(sparse::Csr mask, std::int64_t n, const Distribution& from, std::uint64_t seed,
                Dtype element = Dtype::f32) {
  std::vector<float> lhs = held(element, drawn(from, mask.rows * n, seed)),
                     rhs = held(element, drawn(from, mask.cols * n, seed + 1));
  return {.mask = std::move(mask), .lhs = std::move(lhs), .rhs = std::move(rhs), .n = n, .element = element};
}

std::vector<ExactSum> exact(const Sampled& of) {
  std::vector<ExactSum> sums(static_cast<std::size_t>(of.mask.nonzeros()));
  for (std::int64_t row = 0; row < of.mask.rows; ++row)
    for (std::int64_t entry = of.mask.row_offsets[row]; entry < of.mask.row_offsets[row + 1]; ++entry)
      for (std::int64_t i = 0; i < of.n; ++i)
        sums[entry].add(of.lhs[row * of.n + i], of.rhs[of.mask.column_indices[entry] * of.n + i]);
  return sums;
}

std::vector<float> run(const Context& context, const Sampled& of, const Topology& topology, const std::string& family) {
  device::Device& device = device_of(context);
  const SddmmPlan plan = context.plan(of.problem(), topology, {.effort = Effort::heuristic, .family = family});
  const device::Buffer lhs = stored(device, of.element, of.lhs), rhs = stored(device, of.element, of.rhs);
  const Floats output(device, std::vector<float>(static_cast<std::size_t>(of.mask.nonzeros()),
                                                 std::numeric_limits<float>::quiet_NaN()));
  const Workspace workspace = plan.make_workspace();
  plan.execute(device.own_stream(),
               {.lhs = lhs.data(), .rhs = rhs.data(), .output = output.data(), .workspace = workspace});
  device.synchronize(device.own_stream());
  return output.read();
}

}  // namespace

TEST_CASE(
    "ordinary operands: every element of a sampled product errs by at most 2^-19 of its magnitudes, by every family") {
  if (left_to_other_builds()) return;
  constexpr std::uint64_t seed = 3411;
  MESSAGE("seed " << seed);
  const EveryDevice devices;
  for (const Dtype element : element_types)
    for (const Distribution& from : ordinary_distributions()) {
      CAPTURE(from.name);
      CAPTURE(name(element));
      check_every_family(devices, sampled(sparse::uniform(60, 70, 0.8, seed), 200, from, seed, element),
                         ordinary_units);
    }
}

TEST_CASE("wide operands: every element of a sampled product errs by at most 2^-16 of its magnitudes") {
  if (left_to_other_builds()) return;
  constexpr std::uint64_t seed = 3412;
  MESSAGE("seed " << seed);
  const EveryDevice devices;
  for (const Distribution& from : wide_distributions()) {
    CAPTURE(from.name);
    check_every_family(devices, sampled(sparse::uniform(60, 70, 0.8, seed), 200, from, seed), most_units);
  }
}

TEST_CASE("columns of both operands that make up for each other leave the bound of a sampled product as it is") {
  if (left_to_other_builds()) return;
  constexpr std::uint64_t seed = 3413;
  MESSAGE("seed " << seed);
  const EveryDevice devices;
  for (const double decades : {6.0, 12.0, 30.0}) {
    CAPTURE(decades);
    Sampled of = sampled(sparse::uniform(60, 70, 0.8, seed), 200, ordinary_distributions().front(), seed);
    sparse::Random random(seed);
    std::vector<float> factors(200);
    for (float& factor : factors) factor = std::fabs(log_uniform(random, decades));
    for (std::size_t i = 0; i < of.lhs.size(); ++i) of.lhs[i] /= factors[i % 200];
    for (std::size_t i = 0; i < of.rhs.size(); ++i) of.rhs[i] *= factors[i % 200];
    check_every_family(devices, of, most_units);
  }
}

TEST_CASE(
    "rows of either operand that no element names touch nothing, whatever they hold, and named ones follow IEEE") {
  if (left_to_other_builds()) return;
  constexpr std::uint64_t seed = 3414;
  MESSAGE("seed " << seed);
  const EveryDevice devices;
  sparse::Csr mask = sparse::uniform(60, 72, 0.8, seed);
  for (std::int32_t& column : mask.column_indices)
    column -= column % 4 == 3 ? 1 : 0;  // none names every fourth row of B
  for (const float held_there :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 3e38F})
    for (const Dtype element : element_types) {
      CAPTURE(held_there);
      CAPTURE(name(element));
      Sampled of = sampled(mask, 200, ordinary_distributions().front(), seed, element);
      for (std::size_t i = 0; i < of.rhs.size(); ++i)
        if (i / 200 % 4 == 3) of.rhs[i] = held_there;
      of.rhs = held(element, of.rhs);
      check_every_family(devices, of, ordinary_units);
      of.lhs[200 * 5 + 17] = std::numeric_limits<float>::infinity();
      of.rhs[200 * mask.column_indices[mask.row_offsets[9]] + 3] = std::numeric_limits<float>::quiet_NaN();
      check_every_family(devices, of, ordinary_units);
    }
}

TEST_CASE("sums of more than 65,536 products of a sampled product, in parts, keep the bound") {
  if (left_to_other_builds()) return;
  constexpr std::uint64_t seed = 3415;
  MESSAGE("seed " << seed);
  const EveryDevice devices;
  Sampled of = sampled(sparse::uniform(8, 40, 0.8, seed), 70000, ordinary_distributions().front(), seed);
  check_every_family(devices, of, ordinary_units);
  for (auto* operand : {&of.lhs, &of.rhs})  // all sums grow
    for (float& value : *operand) value = std::fabs(value);
  check_every_family(devices, of, most_units);
}
