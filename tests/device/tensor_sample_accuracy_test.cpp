// What `accurate` promises of f32 on tensor cores, for every element of an
// SDDMM: |error| <= 2^-19 ||row of A|| ||row of B||, on data that is hard for
// it. The emulator cuts sums as tensor cores do (parts/mma.h); wgmma_sample,
// which it does not run, is tried on GPUs of sm_90.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "base/checked.hpp"
#include "device/tensor_sample_harness.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 20402;
constexpr std::int64_t rows = 34;
constexpr std::int64_t cols = 21;

/// One thread order is enough: sums do not depend on it.
const std::vector<NamedDevice> &devices() {
  static const std::vector<NamedDevice> list = [] {
    std::vector<NamedDevice> found;
    for (const NamedDevice &on : tensor_devices())
      if (found.empty() || on.device->info().gpu) found.push_back(on);
    return found;
  }();
  return list;
}

/// Element i of row `row` of A or of B.
using Generator = std::function<double(sparse::Random &random, std::int64_t row, std::int64_t i)>;

double normal(sparse::Random &random, std::int64_t, std::int64_t) { return random.normal(); }
double uniform(sparse::Random &random, std::int64_t, std::int64_t) { return random.uniform(); }

std::vector<float> generate(std::int64_t count, std::int64_t n, const Generator &element, std::uint64_t s) {
  sparse::Random random(s);
  std::vector<float> values;
  for (std::int64_t row = 0; row < count; ++row)
    for (std::int64_t i = 0; i < n; ++i) values.push_back(static_cast<float>(element(random, row, i)));
  return values;
}

struct Errors {
  double worst = 0;     ///< of an element, in units of 2^-19 ||row of A|| ||row of B||
  double normwise = 0;  ///< ||y - r|| / ||r||
};

/// Elements that f32 does not hold are left out, and half its smallest number
/// is no error.
Errors errors_of(std::int64_t n, const std::vector<float> &a, const std::vector<float> &b,
                 const std::vector<float> &output) {
  Errors errors;
  double squares = 0, error_squares = 0;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < cols; ++column) {
      double sum = 0, of_row = 0, of_column = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const double x = a[static_cast<std::size_t>(row * n + i)];
        const double y = b[static_cast<std::size_t>(column * n + i)];
        sum += x * y;
        of_row += x * x;
        of_column += y * y;
      }
      if (std::fabs(sum) > std::numeric_limits<float>::max()) continue;
      const double found = output[static_cast<std::size_t>(row * cols + column)];
      const double error = std::fabs(found - sum) <= 0x1p-150 ? 0 : std::fabs(found - sum);
      squares += sum * sum;
      error_squares += error * error;
      // Not std::max, which passes NaN over.
      const double share = error == 0 ? 0 : error / (0x1p-19 * std::sqrt(of_row) * std::sqrt(of_column));
      if (!(share <= errors.worst)) errors.worst = share;
    }
  errors.normwise = squares > 0 ? std::sqrt(error_squares / squares) : 0;
  return errors;
}

/// Fewest parts, a power of two, of at most so many blocks of n.
int parts_of(const ops::SddmmQuery &query, std::int64_t most_blocks) {
  int parts = 1;
  while (ceil_div(ops::sampled::n_blocks(query), parts) > most_blocks) parts *= 2;
  return parts;
}

/// Every way to add up: short sums, whole blocks with their low products first,
/// and where n is one block A in registers; in parts as long as they may be.
std::vector<SampleConfig> configs(const ops::SddmmQuery &query, const NamedDevice &on) {
  TensorSampleConfig short_sums{
      .row_warps = 2, .column_warps = 1, .warp_rows = 16, .warp_columns = 32, .promotion_steps = 2, .list_room = 64};
  short_sums.n_split = parts_of(query, 32);
  TensorSampleConfig low_first = short_sums;
  low_first.promotion_steps = 4;
  low_first.low_first = true;
  low_first.n_split = parts_of(query, 64);
  const ops::Family *const portable = &tensor_sample_family();
  std::vector<SampleConfig> list = {{portable, ops::Config::of(short_sums)}, {portable, ops::Config::of(low_first)}};
  if (ops::sampled::n_blocks(query) == 1) {
    low_first.kept_blocks = 1;
    low_first.tiles_per_block = 2;
    list.push_back({portable, ops::Config::of(low_first)});
  }
  if (!wgmma_sample_family().runs_on(on.device->architecture())) return list;
  const WgmmaSampleConfig warpgroups{.warpgroups = 1,
                                     .tile_columns = 32,
                                     .stages = 2,
                                     .takes_turns = false,
                                     .list_room = 64,
                                     .n_split = parts_of(query, 64)};
  list.push_back({&wgmma_sample_family(), ops::Config::of(warpgroups)});
  return list;
}

/// Runs every config with these operands: visit(output).
template <class Visit>
void run_each(std::int64_t n, const std::vector<float> &a, const std::vector<float> &b, const Visit &visit) {
  const sparse::Csr mask = sparse::uniform(rows, cols, 0.0, seed);
  for (const NamedDevice &on : devices()) {
    tune::SddmmCase c(*on.device, {.n = n}, mask, seed);
    const auto put = [&](const void *operand, const std::vector<float> &values) {
      on.device->copy_to_device(const_cast<void *>(operand), values.data(),
                                static_cast<std::int64_t>(values.size() * sizeof(float)));
    };
    put(c.call().lhs, a);
    put(c.call().rhs, b);
    for (const auto &[family, config] : configs(c.query(), on)) {
      INFO(on.name, ", n = ", n, ", ", std::string(family->name()), ", ", to_text(config.to_map()));
      const auto declined = family->declines(c.query());
      REQUIRE_MESSAGE(!declined, declined.value_or(""));
      const auto reason = family->forbidden(c.query(), config);
      REQUIRE_MESSAGE(!reason, reason.value_or(""));
      run_sampled(on, *family, c, mask,
                  config);  // compares with other operands' products: that
                            // says nothing here
      visit(c.output());
    }
  }
}

/// The largest errors over the configs and devices.
Errors worst_errors(std::int64_t n, const Generator &of_a, const Generator &of_b) {
  const std::vector<float> a = generate(rows, n, of_a, seed);
  const std::vector<float> b = generate(cols, n, of_b, seed + 1);
  Errors worst;
  run_each(n, a, b, [&](const std::vector<float> &output) {
    const Errors errors = errors_of(n, a, b, output);
    CHECK(errors.worst <= 1);
    worst.worst = std::max(worst.worst, errors.worst);
    worst.normwise = std::max(worst.normwise, errors.normwise);
  });
  return worst;
}

constexpr std::array lengths = {64, 300, 2048, 4096};

}  // namespace

TEST_CASE(
    "tensor_sample accuracy: normal and uniform values stay within the "
    "promise, and normwise near f32's own rounding") {
  for (const std::int64_t n : lengths) {
    const Errors of_normal = worst_errors(n, normal, normal);
    const Errors of_uniform = worst_errors(n, uniform, uniform);
    CHECK(of_normal.normwise <= 0x1p-20);
    CHECK(of_uniform.normwise <= 0x1p-20);
    MESSAGE("n = " << n << ": normal " << of_normal.worst << " and " << of_normal.normwise << ", uniform "
                   << of_uniform.worst << " and " << of_uniform.normwise);
  }
}

TEST_CASE(
    "tensor_sample accuracy: rows of equal elements, which round and are "
    "cut all alike, stay within the promise") {
  const auto a = [](sparse::Random &, std::int64_t row, std::int64_t) {
    return 0.5 + 0.0437 * static_cast<double>(row);
  };
  const auto b = [](sparse::Random &, std::int64_t row, std::int64_t) {
    return 0.7 + 0.0371 * static_cast<double>(row);
  };
  for (const std::int64_t n : lengths) MESSAGE("n = " << n << ": worst " << worst_errors(n, a, b).worst);
}

TEST_CASE(
    "tensor_sample accuracy: n = 65536, all elements equal, stays within "
    "the promise") {
  if (thread_sanitized) {
    MESSAGE("skipped: 1024 n blocks take ThreadSanitizer too long");
    return;
  }
  const auto a = [](sparse::Random &, std::int64_t row, std::int64_t) {
    return 1.0 + 0.0137 * static_cast<double>(row);
  };
  const auto b = [](sparse::Random &, std::int64_t row, std::int64_t) {
    return 0.7 + 0.0171 * static_cast<double>(row);
  };
  const Errors errors = worst_errors(65536, a, b);
  MESSAGE("worst " << errors.worst << ", normwise " << errors.normwise);
}

TEST_CASE("tensor_sample accuracy: sums that cancel stay within the promise") {
  const auto a = [](sparse::Random &random, std::int64_t, std::int64_t i) {
    return (i % 2 == 0 ? 1 : -1) * (1 + 0.001 * random.uniform());
  };
  const auto b = [](sparse::Random &random, std::int64_t, std::int64_t) { return 1 + 0.001 * random.uniform(); };
  for (const std::int64_t n : lengths) MESSAGE("n = " << n << ": worst " << worst_errors(n, a, b).worst);
}

TEST_CASE(
    "tensor_sample accuracy: rows with one huge element stay within the "
    "promise") {
  const auto with_spike = [](sparse::Random &random, std::int64_t row, std::int64_t i) {
    return random.normal() * (i == row * 7 % 61 ? std::pow(10.0, static_cast<double>(row % 12)) : 1.0);
  };
  for (const std::int64_t n : {64, 300}) {
    MESSAGE("n = " << n << ": worst " << worst_errors(n, with_spike, with_spike).worst);
    worst_errors(n, with_spike, normal);
    worst_errors(n, normal, with_spike);
  }
}

TEST_CASE(
    "tensor_sample accuracy: magnitudes from 1e-30 to 1e30, by row and "
    "by element, stay within the promise") {
  const auto by_row = [](double first, double last) {
    return [=](sparse::Random &random, std::int64_t row, std::int64_t) {
      return random.normal() * std::pow(10.0, first + (last - first) * static_cast<double>(row % 16) / 15);
    };
  };
  const auto by_element = [](sparse::Random &random, std::int64_t, std::int64_t) {
    return random.normal() * std::pow(10.0, 60 * random.uniform() - 30);
  };
  for (const std::int64_t n : {64, 300}) {
    MESSAGE("n = " << n << ", wide rows of A: worst " << worst_errors(n, by_row(-30, 30), by_row(-7, 7)).worst);
    MESSAGE("n = " << n << ", wide rows of B: worst " << worst_errors(n, by_row(-7, 7), by_row(-30, 30)).worst);
    MESSAGE("n = " << n << ", tiny times huge: worst " << worst_errors(n, by_row(-37, -30), by_row(30, 37.5)).worst);
    MESSAGE("n = " << n << ", huge times tiny: worst " << worst_errors(n, by_row(30, 37.5), by_row(-37, -30)).worst);
    MESSAGE("n = " << n << ", wide elements of A: worst " << worst_errors(n, by_element, by_row(-7, 7)).worst);
    MESSAGE("n = " << n << ", wide elements of B: worst " << worst_errors(n, by_row(-7, 7), by_element).worst);
  }
}

TEST_CASE(
    "tensor_sample accuracy: denormal operands and products stay within "
    "the promise") {
  const auto denormal = [](sparse::Random &random, std::int64_t, std::int64_t) { return random.normal() * 0x1p-130; };
  const auto small = [](sparse::Random &random, std::int64_t, std::int64_t) { return random.normal() * 0x1p-66; };
  const auto huge = [](sparse::Random &random, std::int64_t, std::int64_t) { return random.normal() * 0x1p120; };
  const auto mixed = [](sparse::Random &random, std::int64_t, std::int64_t i) {
    return random.normal() * (i % 2 == 0 ? 1 : 0x1p-140);
  };
  for (const std::int64_t n : {64, 300}) {
    worst_errors(n, denormal, normal);
    worst_errors(n, normal, denormal);
    worst_errors(n, denormal, huge);
    worst_errors(n, small, small);
    worst_errors(n, mixed, mixed);
  }
}

TEST_CASE("tensor_sample accuracy: rows of zeros give zeros") {
  const auto zero = [](sparse::Random &, std::int64_t, std::int64_t) { return 0.0; };
  const auto zero_rows = [](sparse::Random &random, std::int64_t row, std::int64_t) {
    return row % 3 == 0 ? 0.0 : random.normal();
  };
  CHECK(worst_errors(100, zero, normal).worst == 0);
  CHECK(worst_errors(100, normal, zero).worst == 0);
  worst_errors(100, zero_rows, zero_rows);
}

TEST_CASE(
    "tensor_sample accuracy: what is not finite leaves the accuracy of "
    "other rows as it is") {
  constexpr std::int64_t n = 130;
  std::vector<float> a = generate(rows, n, normal, seed);
  std::vector<float> b = generate(cols, n, normal, seed + 1);
  std::vector<float> clean_a = a, clean_b = b;
  const auto spoil = [](std::vector<float> &values, std::vector<float> &clean, std::size_t at, float value) {
    values[at] = value;
    clean[at] = 0;  // scales do not look at what is not finite
  };
  spoil(a, clean_a, 3 * n + 7, std::numeric_limits<float>::infinity());
  spoil(a, clean_a, 20 * n + 129, NAN);
  spoil(b, clean_b, 2 * n, -std::numeric_limits<float>::infinity());
  spoil(b, clean_b, 9 * n + 64, NAN);
  std::vector<std::vector<float>> of_clean;
  run_each(n, clean_a, clean_b, [&](const std::vector<float> &output) { of_clean.push_back(output); });
  std::size_t turn = 0;
  run_each(n, a, b, [&](const std::vector<float> &output) {
    for (std::size_t i = 0; i < output.size(); ++i) {
      const bool spoilt = i / cols == 3 || i / cols == 20 || i % cols == 2 || i % cols == 9;
      if (spoilt) REQUIRE(!std::isfinite(output[i]));
      else REQUIRE(output[i] == of_clean[turn][i]);
    }
    ++turn;
  });
}
