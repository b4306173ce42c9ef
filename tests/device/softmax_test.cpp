// Sparse softmax and its gradient against float64, on the emulator in several thread orders and on every GPU.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include <abi/row_softmax.h>

#include "base/text.hpp"
#include "codegen/fields.hpp"
#include "device/family_run.hpp"
#include "device/pairwise.hpp"
#include "ops/softmax/problem.hpp"
#include "sparse/generate.hpp"
#include "tune/softmax_case.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 30301;

/// Forward and backward in one shape, so that every test can ask for both.
struct Forward {
  using Problem = Softmax;
  using Case = tune::SoftmaxCase;
  static const std::vector<std::unique_ptr<ops::Family>>& families() { return ops::families("softmax"); }
};
struct Backward {
  using Problem = SoftmaxBackward;
  using Case = tune::SoftmaxBackwardCase;
  static const std::vector<std::unique_ptr<ops::Family>>& families() { return ops::families("softmax_backward"); }
};

/// A mask of rows of these lengths; columns do not matter to a softmax.
sparse::Csr rows_of(const std::vector<std::int64_t>& lengths) {
  sparse::Csr csr{.rows = static_cast<std::int64_t>(lengths.size()), .cols = 1};
  for (const std::int64_t length : lengths) {
    csr.column_indices.insert(csr.column_indices.end(), static_cast<std::size_t>(length), 0);
    csr.row_offsets.push_back(csr.nonzeros());
  }
  return csr;
}

/// Rows from empty to long: what the threads of a warp find hardest.
sparse::Csr uneven_rows(std::int64_t rows, std::int64_t longest, std::uint64_t s) {
  sparse::Random random(s);
  std::vector<std::int64_t> lengths;
  for (std::int64_t r = 0; r < rows; ++r) {
    const double share = random.below(5) == 0 ? 0.0 : random.below(8) == 0 ? 1.0 : std::pow(random.uniform(), 3);
    lengths.push_back(static_cast<std::int64_t>(share * static_cast<double>(longest)));
  }
  return rows_of(lengths);
}

TopologyStatistics statistics_of(const sparse::Csr& mask) {
  return sparse::statistics(mask.rows, mask.cols, mask.row_offsets, mask.column_indices);
}

struct Run {
  float scale = 0.75F;
  bool in_place = false;
};

/// Runs a config (the default where there is none) and compares with float64.
template <class Direction>
void check(const NamedDevice& on, const ops::Family& family, const typename Direction::Problem& problem,
           const sparse::Csr& mask, const ops::Config* config = nullptr, const Run& run = {}) {
  ops::validate(problem, statistics_of(mask));
  const auto query = ops::make_query(problem, statistics_of(mask), {}, on.device.get());
  if (const auto why = family.declines(*query)) {
    CHECK(query->statistics.nonzeros == 0);
    return;
  }
  const ops::Config used = config != nullptr ? *config : family.default_config(*query);
  INFO(on.name, ": ", mask.rows, " rows, ", mask.nonzeros(), " nonzeros, ", query->exact, ", in place ", run.in_place,
       ", scale ", run.scale, "; ", std::string(family.name()), " ", to_text(used.to_map()));
  REQUIRE_MESSAGE(!family.forbidden(*query, used), *family.forbidden(*query, used));
  typename Direction::Case c(*on.device, problem, mask, seed, run.scale, run.in_place);
  const RowForms forms(*on.device, mask, family.needs(*query, used));
  const tune::Check checked = run_family(*on.device, family, *query, used, forms.pointers(), c);
  CHECK_MESSAGE(checked.wrong.empty(), checked.wrong);
}

template <class Direction>
void check_families(const typename Direction::Problem& problem, const sparse::Csr& mask, const Run& run = {}) {
  for (const NamedDevice& on : kernel_devices())
    for (const auto& family : Direction::families()) check<Direction>(on, *family, problem, mask, nullptr, run);
}

/// Configs that the rules admit, drawn from the space.
std::vector<ops::Config> sample_configs(const ops::Family& family, const ops::Query& query, sparse::Random& random,
                                        std::size_t count) {
  std::vector<ops::Config> admitted;
  for (ops::Config& config : family.space(query))
    if (!family.forbidden(query, config)) admitted.push_back(std::move(config));
  REQUIRE(!admitted.empty());
  std::vector<ops::Config> sample;
  for (std::size_t i = 0; i < count; ++i)
    sample.push_back(admitted[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(admitted.size())))]);
  return sample;
}

const std::vector<std::int64_t> edge_lengths = {0, 1, 2, 3, 7, 31, 32, 33, 0, 0, 1, 1023, 1024, 1025, 5000, 1, 0, 17};

}  // namespace

TEST_CASE("softmax and its gradient are right for rows of every critical length") {
  const sparse::Csr mask = rows_of(edge_lengths);
  check_families<Forward>({.statistics = RowStatistics::write}, mask);
  check_families<Backward>({}, mask);
}

TEST_CASE("masks without rows, without entries, with one entry and with empty rows at either end are right") {
  for (const auto& lengths :
       std::vector<std::vector<std::int64_t>>{{}, {0}, {0, 0, 0}, {1}, {0, 1}, {1, 0}, {0, 0, 5, 0}, {2, 2, 2}}) {
    check_families<Forward>({.batch = 2, .statistics = RowStatistics::write}, rows_of(lengths));
    check_families<Backward>({.batch = 2}, rows_of(lengths));
  }
}

TEST_CASE("pairs of types, scales, statistics, batches, strides and alignments are right, in place and not") {
  MESSAGE("seed " << seed);
  constexpr std::array types = {Dtype::f32, Dtype::f16, Dtype::bf16};
  constexpr std::array scales = {Scale::one, Scale::host, Scale::device};
  constexpr std::array statistics = {RowStatistics::none, RowStatistics::write, RowStatistics::read};
  constexpr std::array alignments = {0, 16};  // 0: as the widest element type
  const sparse::Csr mask = uneven_rows(thread_sanitized ? 10 : 60, 300, seed);
  sparse::Random random(seed);
  std::vector<std::vector<int>> rows = pairwise({3, 3, 3, 3, 2, 2, 3, 2}, seed);
  if (thread_sanitized) rows.resize(3);
  for (const std::vector<int>& row : rows) {
    const Dtype element = types[static_cast<std::size_t>(row[0])];
    const bool in_place = row[7] == 1;
    const std::int64_t stride = row[6] == 0 ? 0 : mask.nonzeros() + random.below(20);
    const std::int64_t other_stride = row[6] == 2 && !in_place ? mask.nonzeros() + 8 : in_place ? stride : 0;
    const std::int64_t batch = row[5] == 0 ? 1 : 3;
    const Dtype output = in_place ? element : types[static_cast<std::size_t>(row[1])];
    const Softmax forward{
        .batch = batch,
        .element = element,
        .output = output,
        .value_stride = in_place ? other_stride : stride,
        .output_stride = other_stride,
        .alignment_bytes = std::max({alignments[static_cast<std::size_t>(row[4])], size_of(element), size_of(output)}),
        .scale = scales[static_cast<std::size_t>(row[2])],
        .statistics = statistics[static_cast<std::size_t>(row[3])]};
    check_families<Forward>(forward, mask, {.in_place = in_place});
    check_families<Backward>({.batch = batch,
                              .element = element,
                              .output = forward.output,
                              .probability_stride = stride,
                              .output_gradient_stride = forward.value_stride,
                              .input_gradient_stride = other_stride,
                              .alignment_bytes = forward.alignment_bytes,
                              .scale = forward.scale},
                             mask, {.in_place = in_place});
  }
}

TEST_CASE("configs of the space are right on uneven rows, in place") {
  MESSAGE("seed " << seed);
  const sparse::Csr mask = thread_sanitized ? uneven_rows(12, 300, seed) : uneven_rows(70, 2500, seed);
  const Softmax forward{.element = Dtype::f16, .scale = Scale::host, .statistics = RowStatistics::write};
  const SoftmaxBackward backward{.scale = Scale::host};
  const std::size_t count = thread_sanitized ? 1 : 4;
  for (const NamedDevice& on : kernel_devices()) {
    sparse::Random random(seed);
    for (const auto& family : Forward::families())
      for (const ops::Config& config :
           sample_configs(*family, *ops::make_query(forward, statistics_of(mask), {}, on.device.get()), random, count))
        check<Forward>(on, *family, forward, mask, &config, {.in_place = true});
    for (const auto& family : Backward::families())
      for (const ops::Config& config :
           sample_configs(*family, *ops::make_query(backward, statistics_of(mask), {}, on.device.get()), random, count))
        check<Backward>(on, *family, backward, mask, &config, {.in_place = true});
  }
}

TEST_CASE("a scale of zero, negative, tiny, huge and not finite gives what float64 gives") {
  const float infinity = std::numeric_limits<float>::infinity();
  const sparse::Csr mask = rows_of({0, 1, 5, 40, 1, 130});
  for (const float scale : {0.0F, -0.0F, -1.5F, 1e-30F, -1e-42F, 1e30F, 3e38F, -3e38F})
    for (const RowStatistics statistics : {RowStatistics::none, RowStatistics::write})
      check_families<Forward>({.scale = Scale::host, .statistics = statistics}, mask, {.scale = scale});
  for (const float scale : {0.0F, -1.5F, 1e-30F, 1e30F})
    check_families<Backward>({.scale = Scale::device}, mask, {.scale = scale});
  // Every entry of every row is NaN: the reference says so by infinity * x - infinity.
  for (const float scale : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
    sparse::Csr positive = mask;
    positive.values.assign(static_cast<std::size_t>(mask.nonzeros()), scale < 0 ? -1.0 : 1.0);
    check_families<Forward>({.scale = Scale::device}, positive, {.scale = scale});
  }
}

TEST_CASE("entries near the largest float neither overflow nor lose their order") {
  sparse::Csr mask = rows_of({3, 4, 2});
  mask.values = {3e38, -3e38, 2.9e38, 3.4e38, 3.4e38, -3.4e38, 1, -3.4e38, -3.4e38};
  for (const float scale : {1.0F, 1e-38F, -1e-38F, 1e38F})
    check_families<Forward>({.scale = Scale::host}, mask, {.scale = scale});
  check_families<Forward>({}, mask);
}

TEST_CASE("-infinity leaves a row, a row of nothing else gives zeros, and NaN and infinity spoil their own row only") {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::int64_t> lengths = {3, 3, 3, 3, 1, 1, 1, 40, 40, 40, 600, 600, 600, 600};
  for (const std::size_t place : {0, 1, 2}) {
    sparse::Csr mask = rows_of(lengths);
    for (const float value : sparse::normal_values(mask.nonzeros(), seed))
      mask.values.push_back(static_cast<double>(value));
    const auto at = [&](std::size_t row, std::size_t entry) -> double& {
      return mask.values[static_cast<std::size_t>(mask.row_offsets[row]) + entry];
    };
    const auto fill = [&](std::size_t row, double value) {
      for (std::int64_t i = 0; i < lengths[row]; ++i) at(row, static_cast<std::size_t>(i)) = value;
    };
    at(0, place) = -infinity;
    fill(1, -infinity);
    at(2, place) = nan;
    at(3, place) = infinity;
    at(4, 0) = -infinity;
    at(5, 0) = infinity;
    at(7, 13 * place) = -infinity;
    at(8, 13 * place) = infinity;
    fill(10, -infinity);
    at(10, 200 * place + 7) = -1000;
    fill(11, -infinity);
    at(12, 200 * place + 5) = nan;
    for (const RowStatistics statistics : {RowStatistics::none, RowStatistics::write, RowStatistics::read}) {
      check_families<Forward>({.statistics = statistics}, mask);
      check_families<Forward>({.element = Dtype::f16, .scale = Scale::host, .statistics = statistics}, mask,
                              {.scale = -2.0F});
    }
    check_families<Forward>({.scale = Scale::host}, mask, {.scale = 0.0F});
    check_families<Backward>({}, mask);
  }
}

TEST_CASE("the order in which threads and blocks run changes no bit") {
  const sparse::Csr mask = rows_of({20000, 3, 7000, 700});
  for (const auto& family : Forward::families()) {
    std::vector<std::vector<float>> outputs;
    for (const NamedDevice& on : kernel_devices()) {
      if (on.device->info().gpu) continue;
      const auto query = ops::make_query(Softmax{}, statistics_of(mask), {}, on.device.get());
      const ops::Config config = family->default_config(*query);
      const RowForms forms(*on.device, mask, family->needs(*query, config));
      tune::SoftmaxCase c(*on.device, {}, mask, seed);
      CHECK(run_family(*on.device, *family, *query, config, forms.pointers(), c).wrong.empty());
      outputs.push_back(c.output());
      CHECK(outputs.back() == outputs.front());
    }
  }
}

TEST_CASE("64-bit row offsets give what 32-bit ones give") {
  const sparse::Csr mask = rows_of(edge_lengths);
  for (const NamedDevice& on : kernel_devices()) {
    const ops::Family& family = *Forward::families()[0];
    tune::SoftmaxCase c(*on.device, {}, mask, seed);
    const auto query = ops::make_query(Softmax{}, statistics_of(mask), {}, on.device.get());
    ops::SoftmaxQuery wide = *query;
    wide.statistics.nonzeros = std::int64_t{1} << 31;
    const ops::Config config = family.default_config(*query);
    const RowForms forms(*on.device, mask, family.needs(*query, config), true);
    const tune::Check checked = run_family(*on.device, family, wide, config, forms.pointers(), c);
    CHECK_MESSAGE(checked.wrong.empty(), checked.wrong);
  }
}

TEST_CASE("batches past the grid's second dimension are right") {
  if (thread_sanitized) {
    std::printf("batches past the grid's second dimension skipped: 65600 blocks take minutes under ThreadSanitizer\n");
    return;
  }
  const sparse::Csr mask = rows_of({2});
  const NamedDevice& on = kernel_devices().front();
  const ops::Family& family = *Forward::families()[0];
  ops::Config config = ops::Config::of(RowSoftmaxConfig{.threads_per_row = 4, .rows_per_block = 8, .held_vectors = 1});
  check<Forward>(on, family, {.batch = 65600}, mask, &config);
}
