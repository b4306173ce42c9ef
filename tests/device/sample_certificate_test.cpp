// Sums of an SDDMM on tensor cores that a split of f32 may spoil are made again: they keep the contract
// (contract.hpp) whatever the operands hold. The emulator has no wgmma: wgmma_sample is tried on GPUs of sm_90.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "device/contract.hpp"
#include "device/tensor_sample_harness.hpp"
#include "sparse/csr.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

/// An SDDMM whose operands a test chose, as matrices of each batch: A [batch, rows, n], B [batch, cols, n].
struct Sampled {
  sparse::Csr mask;
  Sddmm problem;
  std::vector<float> lhs;
  std::vector<float> rhs;
  std::vector<float> multiplier = {};  ///< [nonzeros]
  std::vector<float> initial = {};     ///< [batch, nonzeros]

  std::int64_t outputs() const { return problem.batch * mask.nonzeros(); }
};

/// The elements of a matrix of each batch, laid out as the problem says.
std::vector<float> laid_out(const std::vector<float>& values, Layout layout, std::int64_t rows, std::int64_t n) {
  if (layout == Layout::row_major) return values;
  std::vector<float> columns(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t matrix = at / (rows * n), row = at / n % rows, column = at % n;
    columns[static_cast<std::size_t>((matrix * n + column) * rows + row)] = values[i];
  }
  return columns;
}

/// Of scale * sum (o C) (+ D): the certificate is of the sum, and the rest rounds as f32 does.
std::vector<ExactSum> exact_sums(const Sampled& of, float scale) {
  std::vector<ExactSum> sums(static_cast<std::size_t>(of.outputs()));
  const std::int64_t n = of.problem.n;
  std::size_t at = 0;
  for (std::int64_t matrix = 0; matrix < of.problem.batch; ++matrix)
    for (std::int64_t row = 0; row < of.mask.rows; ++row)
      for (std::int64_t entry = of.mask.row_offsets[row]; entry < of.mask.row_offsets[row + 1]; ++entry, ++at) {
        const double factor = static_cast<double>(scale) * (of.multiplier.empty() ? 1.0 : of.multiplier[entry]);
        const float* const a = of.lhs.data() + (matrix * of.mask.rows + row) * n;
        const float* const b = of.rhs.data() + (matrix * of.mask.cols + of.mask.column_indices[entry]) * n;
        for (std::int64_t i = 0; i < n; ++i) sums[at].add(factor * a[i], b[i]);
        if (!of.initial.empty()) sums[at].add(of.initial[at], 1);
      }
  return sums;
}

void spoil(device::Device& device, const device::Buffer& operand) {
  const std::vector<float> all(static_cast<std::size_t>(operand.bytes()) / sizeof(float), nan_value);
  device.copy_to_device(operand.data(), all.data(), operand.bytes());
}

/// One config on one device. Outputs and workspace are poisoned before. `spoils`: operands are NaN once they are split,
/// so that sums which are made again show.
std::vector<float> run(const NamedDevice& on, const ops::Family& family, const Sampled& of, const ops::Config& config,
                       float scale, bool spoils = false) {
  device::Device& device = *on.device;
  const auto statistics = sparse::statistics(of.mask.rows, of.mask.cols, of.mask.row_offsets, of.mask.column_indices);
  const auto query = ops::make_query(of.problem, statistics, {of.problem.n, of.problem.n}, &device);
  const auto reason = family.forbidden(*query, config);
  REQUIRE_MESSAGE(!reason, reason.value_or(""));
  const TileForms forms(device, of.mask, family.needs(*query, config).tiles);
  const device::Buffer lhs =
      stored(device, Dtype::f32, laid_out(of.lhs, of.problem.lhs_layout, of.mask.rows, of.problem.n));
  const device::Buffer rhs =
      stored(device, Dtype::f32, laid_out(of.rhs, of.problem.rhs_layout, of.mask.cols, of.problem.n));
  const device::Buffer multiplier = stored(device, Dtype::f32, of.multiplier);
  const Floats output(
      device, of.initial.empty() ? std::vector<float>(static_cast<std::size_t>(of.outputs()), nan_value) : of.initial);
  const auto workspace_bytes = static_cast<std::size_t>(family.workspace_bytes(*query, config));
  const device::Buffer workspace(device, static_cast<std::int64_t>(workspace_bytes));
  const std::vector<unsigned char> poison(workspace_bytes, 0xff);
  device.copy_to_device(workspace.data(), poison.data(), workspace.bytes());
  const SddmmArguments call = {.lhs = lhs.data(),
                               .rhs = rhs.data(),
                               .output = output.data(),
                               .multiplier = multiplier.data(),
                               .scale = scale,
                               .workspace = workspace.data()};
  std::vector<ops::Launch> launches = family.launches(*query, config, forms.pointers());
  for (ops::Launch& launch : launches) {
    load_kernel(device, launch);
    launch.enqueue(device, device.own_stream(), &call);
    device.synchronize(device.own_stream());
    if (!spoils || &launch != &launches.front()) continue;
    for (const device::Buffer* operand : {&lhs, &rhs}) spoil(device, *operand);
  }
  return output.read();
}

/// Every way to a sum: A goes by, stays in registers or in shared memory; lists that fit and that do not; n in parts;
/// operands that a launch splits, or blocks in place.
std::vector<SampleConfig> ways(const NamedDevice& on, const Sddmm& problem, PackedMode mode) {
  const std::int64_t n = problem.n;
  const bool one_block = n <= sample_block();
  TensorSampleConfig goes_by{
      .mode = mode, .row_warps = 2, .column_warps = 1, .warp_rows = 16, .warp_columns = 32, .list_room = 64};
  if (mode != PackedMode::f16x3) goes_by.promotion_steps = 4;
  TensorSampleConfig in_parts = goes_by, stays = goes_by;
  in_parts.n_split = 2;
  in_parts.list_room = 1024;
  stays.tiles_per_block = 2;
  stays.kept_blocks = static_cast<int>((n + sample_block() - 1) / sample_block());
  std::vector<SampleConfig> list = {{&tensor_sample_family(), ops::Config::of(goes_by)},
                                    {&tensor_sample_family(), ops::Config::of(stays)}};
  if (!one_block) list.push_back({&tensor_sample_family(), ops::Config::of(in_parts)});
  if (!wgmma_sample_family().runs_on(on.device->architecture())) return list;
  const WgmmaSampleConfig warpgroup{
      .mode = mode, .warpgroups = 1, .tile_columns = 32, .stages = 2, .takes_turns = false, .list_room = 64};
  list.push_back({&wgmma_sample_family(), ops::Config::of(warpgroup)});
  WgmmaSampleConfig in_place = warpgroup;
  in_place.mode = PackedMode::tf32x3;
  in_place.tensor_copies = true;
  const bool by_rows = problem.lhs_layout == Layout::row_major && problem.rhs_layout == Layout::row_major;
  WgmmaSampleConfig in_larger_tiles = in_place;  // B of which a warpgroup of its own splits
  in_larger_tiles.warpgroups = 2;
  in_larger_tiles.tile_columns = 64;
  in_larger_tiles.n_split = 2;
  if (mode == PackedMode::f16x3 && by_rows && n >= 128 && n % 4 == 0)
    for (const WgmmaSampleConfig& config : {in_place, in_larger_tiles})
      list.push_back({&wgmma_sample_family(), ops::Config::of(config)});
  return list;
}

/// The worst over the ways and devices. `certify`: what is promised is checked; else, without it, only returned.
double check(Sampled of, double units, bool certify = true, PackedMode mode = PackedMode::f16x3, float scale = 1) {
  of.problem.nonfinite = certify ? NonFinite::sparse : NonFinite::dense;
  const std::vector<ExactSum> sums = exact_sums(of, scale);
  double worst = 0;
  static std::size_t turn = 0;  // each check in another thread order
  for (const NamedDevice& on : devices_of_turn(tensor_devices(), turn++))
    for (const auto& [family, config] : ways(on, of.problem, mode)) {
      INFO(on.name, ", ", std::string(family->name()), ", ", to_text(config.to_map()));
      const std::vector<float> output = run(on, *family, of, config, scale);
      Distance found;
      for (std::size_t i = 0; i < sums.size(); ++i) found.take(output[i], sums[i], i);
      worst = std::max(worst, found.units);
      if (!certify) continue;
      CHECK_MESSAGE(found.wrong.empty(), found.wrong);
      CHECK(found.units <= units);
    }
  return worst;
}

Sampled made(std::int64_t n, const Distribution& from, std::uint64_t seed, Sddmm problem = {}) {
  problem.n = n;
  sparse::Csr mask = sparse::uniform(75, 53, 0.7, seed);
  std::vector<float> lhs = drawn(from, problem.batch * mask.rows * n, seed),
                     rhs = drawn(from, problem.batch * mask.cols * n, seed + 1);
  return {.mask = std::move(mask), .problem = problem, .lhs = std::move(lhs), .rhs = std::move(rhs)};
}

/// Columns of A divided and those of B multiplied by factors over so many decades: sums stay as they are, elements do
/// not.
Sampled compensated(std::int64_t n, double decades, std::uint64_t seed, const Sddmm& problem = {}) {
  Sampled of = made(n, ordinary_distributions().front(), seed, problem);
  sparse::Random random(seed);
  std::vector<float> factors(static_cast<std::size_t>(n));
  for (float& factor : factors) factor = std::fabs(log_uniform(random, decades));
  for (std::size_t i = 0; i < of.lhs.size(); ++i) of.lhs[i] /= factors[i % factors.size()];
  for (std::size_t i = 0; i < of.rhs.size(); ++i) of.rhs[i] *= factors[i % factors.size()];
  return of;
}

/// Each product of mean size 1 lies in a column of its own: elsewhere one of the rows has zeros or 2^-28 of its
/// largest.
Sampled checkerboard(std::int64_t n, std::uint64_t seed) {
  Sampled of = made(n, ordinary_distributions().front(), seed);
  for (std::size_t i = 0; i < of.lhs.size(); ++i) of.lhs[i] *= i % 2 == 0 ? 1.0F : 0x1p-28F;
  for (std::size_t i = 0; i < of.rhs.size(); ++i) of.rhs[i] *= i % 2 == 0 ? 0.0F : 1.0F;
  return of;
}

constexpr std::int64_t lengths[] = {40, 200};

}  // namespace

TEST_CASE("certified sums of ordinary operands err by at most 2^-19 of their magnitudes") {
  constexpr std::uint64_t seed = 3421;
  MESSAGE("seed " << seed);
  for (const Distribution& from : ordinary_distributions())
    for (const std::int64_t n : lengths) {
      CAPTURE(from.name);
      CAPTURE(n);
      check(made(n, from, seed), ordinary_units);
      if (thread_sanitized) return;
    }
}

TEST_CASE("certified sums of wide operands err by at most 2^-16 of their magnitudes, and others do not keep to that") {
  constexpr std::uint64_t seed = 3422;
  MESSAGE("seed " << seed);
  double uncertified = 0;
  for (const std::int64_t n : lengths) {
    CAPTURE(n);
    for (const Distribution& from : wide_distributions()) {
      CAPTURE(from.name);
      check(made(n, from, seed), most_units);
      if (thread_sanitized) return;
    }
    for (const double decades : {6.0, 12.0, 30.0}) {
      CAPTURE(decades);
      check(compensated(n, decades, seed), most_units);
      uncertified = std::max(uncertified, check(compensated(n, decades, seed), 0, false));
    }
    check(checkerboard(n, seed), most_units);
    uncertified = std::max(uncertified, check(checkerboard(n, seed), 0, false));
  }
  MESSAGE("without the certificate up to " << uncertified << " units of 2^-19");
  CHECK(uncertified > most_units);
}

TEST_CASE("certified sums of elements near the smallest and the largest of f32 err by at most 2^-16 of magnitudes") {
  constexpr std::uint64_t seed = 3428;
  MESSAGE("seed " << seed);
  for (const float small : {0x1p-110F, 0x1p-118F, 0x1p-124F})
    for (const bool lhs_is_small : {true, false}) {
      CAPTURE(small);
      Sampled of = made(200, ordinary_distributions().front(), seed);
      for (float& element : of.lhs) element *= lhs_is_small ? small : 0x1p115F;
      for (float& element : of.rhs) element *= lhs_is_small ? 0x1p115F : small;
      check(of, most_units);
      if (thread_sanitized) return;
    }
}

TEST_CASE("certified sums of rows of all sizes, zeros among them, err by at most 2^-16 of their magnitudes") {
  constexpr std::uint64_t seed = 3430;
  MESSAGE("seed " << seed);
  constexpr std::int64_t n = 200;
  for (const bool within_rows : {false, true}) {  // or from row to row
    CAPTURE(within_rows);
    Sampled of = made(n, ordinary_distributions().front(), seed);
    sparse::Random random(seed);
    for (std::vector<float>* operand : {&of.lhs, &of.rhs}) {
      int exponent = 0;
      for (std::size_t i = 0; i < operand->size(); ++i) {
        if (within_rows || i % n == 0) exponent = static_cast<int>(-145 + 250 * random.uniform());
        const bool is_zero = i / n % 5 == 0;
        (*operand)[i] = is_zero ? 0.0F : std::ldexp((*operand)[i], exponent);
      }
    }
    check(of, most_units);
    if (thread_sanitized) return;
  }
}

TEST_CASE("certified sums follow IEEE where an element that the mask names is not finite") {
  constexpr std::uint64_t seed = 3423;
  MESSAGE("seed " << seed);
  for (const std::int64_t n : lengths) {
    CAPTURE(n);
    Sampled of = made(n, ordinary_distributions().front(), seed);
    of.lhs[static_cast<std::size_t>(3 * n + 7)] = infinity;
    of.lhs[static_cast<std::size_t>(20 * n + n - 1)] = nan_value;
    of.rhs[static_cast<std::size_t>(2 * n)] = -infinity;
    of.rhs[static_cast<std::size_t>(9 * n + n / 2)] = 3e38F;  // finite, and its sums are
    of.rhs[static_cast<std::size_t>(11 * n + 5)] = nan_value;
    check(of, most_units);
    if (thread_sanitized) return;
  }
}

TEST_CASE("certified sums of rows of zeros are not made again, whatever the other row loses") {
  constexpr std::uint64_t seed = 3427;
  MESSAGE("seed " << seed);
  for (const std::int64_t n : lengths)
    for (const Layout layout : {Layout::row_major, Layout::column_major}) {
      CAPTURE(n);
      CAPTURE(std::string(name(layout)));
      Sampled of = compensated(n, 12, seed, {.lhs_layout = layout, .rhs_layout = layout});
      const auto is_zero_row = [n](std::size_t element) { return static_cast<std::int64_t>(element) / n % 3 == 1; };
      for (std::size_t i = 0; i < of.lhs.size(); ++i) of.lhs[i] *= is_zero_row(i) ? 0.0F : 1.0F;
      for (std::size_t i = 0; i < of.rhs.size(); ++i) of.rhs[i] *= is_zero_row(i) ? 0.0F : 1.0F;
      const std::vector<ExactSum> sums = exact_sums(of, 1);
      for (const NamedDevice& on : tensor_devices())
        for (const auto& [family, config] : ways(on, of.problem, PackedMode::f16x3)) {
          if (config.to_map().at("mode") == "tf32x3") continue;  // no launch before, after which operands are spoilt
          INFO(on.name, ", ", std::string(family->name()), ", ", to_text(config.to_map()));
          const std::vector<float> output = run(on, *family, of, config, 1, true);
          std::int64_t zeros = 0, of_zeros = 0, made_again = 0;
          for (std::size_t i = 0; i < sums.size(); ++i) {
            of_zeros += sums[i].magnitude == 0 ? 1 : 0;
            zeros += output[i] == 0 ? 1 : 0;
            made_again += std::isnan(output[i]) ? 1 : 0;
          }
          CHECK(zeros == of_zeros);
          CHECK(made_again > 0);  // else nothing would show
        }
      if (thread_sanitized) return;
    }
}

TEST_CASE("certified sums of every layout, of batches, scaled, multiplied and added to what was there") {
  constexpr std::uint64_t seed = 3424;
  MESSAGE("seed " << seed);
  for (const Layout lhs_layout : {Layout::row_major, Layout::column_major})
    for (const Layout rhs_layout : {Layout::row_major, Layout::column_major})
      for (const std::int64_t n : lengths) {
        CAPTURE(n);
        Sampled of = compensated(n, 12, seed,
                                 {.batch = 2,
                                  .lhs_layout = lhs_layout,
                                  .rhs_layout = rhs_layout,
                                  .scale = Scale::host,
                                  .multiply = true,
                                  .accumulate = true});
        of.multiplier = drawn(ordinary_distributions().front(), of.mask.nonzeros(), seed + 2);
        of.initial = drawn(ordinary_distributions().front(), of.outputs(), seed + 3);
        check(of, most_units, true, PackedMode::f16x3, 0.37F);
        if (thread_sanitized) return;
      }
}

TEST_CASE("certified sums under tf32 err by at most 2^-9 of their magnitudes") {
  constexpr std::uint64_t seed = 3425;
  constexpr double units = 1024;  // 2^-9
  MESSAGE("seed " << seed);
  double uncertified = 0;
  for (const PackedMode mode : {PackedMode::f16x1, PackedMode::bf16x3})
    for (const double decades : {0.0, 12.0, 30.0}) {
      CAPTURE(decades);
      CAPTURE(name(mode));
      const Sampled of = compensated(200, decades, seed, {.math = Math::tf32});
      check(of, units, true, mode);
      if (thread_sanitized) return;
      uncertified = std::max(uncertified, check(of, 0, false, mode));
    }
  MESSAGE("without the certificate up to " << uncertified << " units of 2^-19");
  CHECK(uncertified > units);
}

TEST_CASE("a certificate of 16-bit elements changes nothing: they are not split") {
  for (const NamedDevice& on : tensor_devices()) {
    const sparse::Csr mask = sparse::uniform(145, 153, 0.7, 3426);
    const auto statistics = sparse::statistics(mask.rows, mask.cols, mask.row_offsets, mask.column_indices);
    const TensorSampleConfig config{.mode = PackedMode::f16x1};
    std::vector<std::int64_t> shared, workspace;
    for (const NonFinite nonfinite : {NonFinite::dense, NonFinite::sparse}) {
      const auto query = ops::make_query(Sddmm{.n = 64, .element = Dtype::f16, .nonfinite = nonfinite}, statistics,
                                         {64, 64}, on.device.get());
      CHECK(tensor_sample_family().forbidden(*query, ops::Config::of(config)).value_or("") == "");
      shared.push_back(tensor_sample_family().launches(*query, ops::Config::of(config), {}).back().shared_bytes());
      workspace.push_back(tensor_sample_family().workspace_bytes(*query, ops::Config::of(config)));
    }
    CHECK(shared[0] == shared[1]);
    CHECK(workspace[0] == workspace[1]);
  }
}

TEST_CASE("a search for the worst scales of columns finds none that break the bound of certified sums") {
  if (left_to_other_builds()) return;
  const std::uint64_t seed = std::random_device{}();
  MESSAGE("seed " << seed);
  constexpr std::int64_t n = 132;
  sparse::Random random(seed);
  std::vector<double> exponents(n, 0.0);
  double worst = 0;
  for (int step = 0; step < 40; ++step) {
    std::vector<double> moved = exponents;
    for (double& exponent : moved)
      if (random.uniform() < 0.1) exponent = std::clamp(exponent + 10 * random.normal(), -60.0, 60.0);
    Sampled of = made(n, ordinary_distributions().front(), random.bits());
    for (std::size_t i = 0; i < of.lhs.size(); ++i) of.lhs[i] *= static_cast<float>(std::exp2(moved[i % n]));
    for (std::size_t i = 0; i < of.rhs.size(); ++i)
      of.rhs[i] *= static_cast<float>(std::exp2(-moved[i % n] * random.uniform()));
    const double found = check(of, most_units);
    if (found < worst) continue;
    worst = found;
    exponents = moved;
  }
  MESSAGE("the worst is " << worst << " units of 2^-19");
}
