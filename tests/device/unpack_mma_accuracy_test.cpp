// What `accurate` promises of f32 on tensor cores, element by element: |error| <= 2^-19 ||row of A|| ||column of B||,
// on data that is hard for it. The emulator cuts sums as tensor cores do (parts/mma.h).
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/checked.hpp"
#include "codegen/fields.hpp"
#include "device/unpack_harness.hpp"
#include "ops/families.hpp"
#include "ops/spmm/unpack_mma.hpp"
#include "sparse/generate.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 20311;
constexpr std::int64_t rows = 40;
constexpr std::int64_t n = 20;

const ops::Family& family() {
  static const std::unique_ptr<ops::Family> made = ops::make_unpack_mma();
  return *made;
}

/// One thread order is enough: sums do not depend on it.
const std::vector<NamedDevice>& devices() {
  static const std::vector<NamedDevice> list = [] {
    std::vector<NamedDevice> found;
    for (const NamedDevice& on : kernel_devices())
      if (family().runs_on(on.device->architecture()) && (found.empty() || on.device->info().gpu)) found.push_back(on);
    return found;
  }();
  return list;
}

/// The value of element i of row (or column) `line`.
using Generator = std::function<double(sparse::Random& random, std::int64_t line, std::int64_t i)>;

double normal(sparse::Random& random, std::int64_t, std::int64_t) { return random.normal(); }
double uniform(sparse::Random& random, std::int64_t, std::int64_t) { return random.uniform(); }

/// A case of full rows, or of some share of them, whose operands are generated. Every element is what f32 holds of it.
UnpackCase make_case(std::int64_t k, double sparsity, const Generator& a, const Generator& b, std::uint64_t s) {
  sparse::Random random(s);
  sparse::Csr csr = sparse::uniform(rows, k, sparsity, s);
  for (std::int64_t row = 0; row < rows; ++row)
    for (auto i = csr.row_offsets[static_cast<std::size_t>(row)];
         i < csr.row_offsets[static_cast<std::size_t>(row) + 1]; ++i)
      csr.values.push_back(a(random, row, csr.column_indices[static_cast<std::size_t>(i)]));
  UnpackCase c(csr, {.n = n, .value_lifetime = ValueLifetime::persistent}, s);
  for (std::int64_t i = 0; i < k; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      c.host.dense[static_cast<std::size_t>(i * n + j)] = static_cast<float>(b(random, j, i));
  return c;
}

/// The norm of each row of A, or column of B.
std::vector<double> row_norms(const UnpackCase& c) {
  const sparse::Csr& a = c.host.walked;
  std::vector<double> norms;
  for (std::size_t row = 0; row < static_cast<std::size_t>(a.rows); ++row) {
    double squares = 0;
    for (auto i = a.row_offsets[row]; i < a.row_offsets[row + 1]; ++i)
      squares += std::pow(c.host.values[static_cast<std::size_t>(i)], 2.0);
    norms.push_back(std::sqrt(squares));
  }
  return norms;
}
std::vector<double> column_norms(const UnpackCase& c) {
  std::vector<double> squares(n);
  for (std::size_t i = 0; i < c.host.dense.size(); ++i) squares[i % n] += std::pow(c.host.dense[i], 2.0);
  for (double& square : squares) square = std::sqrt(square);
  return squares;
}

struct Errors {
  double worst = 0;     ///< of an element, in units of 2^-19 ||row|| ||column||
  double normwise = 0;  ///< ||y - r|| / ||r||
};

/// Elements that f32 does not hold are left out, and half its smallest number is no error.
Errors errors_of(const UnpackCase& c, const std::vector<float>& output) {
  std::vector<std::int64_t> columns(n);
  std::iota(columns.begin(), columns.end(), 0);
  const std::vector<double> reference = c.host.reference(0, columns);
  const std::vector<double> a = row_norms(c);
  const std::vector<double> b = column_norms(c);
  Errors errors;
  double squares = 0, error_squares = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    if (std::fabs(reference[i]) > std::numeric_limits<float>::max()) continue;
    const double error = std::max(0.0, std::fabs(output[i] - reference[i]) - 0x1p-150);
    const double promised = 0x1p-19 * a[i / n] * b[i % n];
    squares += reference[i] * reference[i];
    error_squares += error * error;
    // Not std::max, which passes NaN over.
    const double share = error == 0 ? 0 : error / promised;
    if (!(share <= errors.worst)) errors.worst = share;
  }
  errors.normwise = squares > 0 ? std::sqrt(error_squares / squares) : 0;
  return errors;
}

/// Three ways to add up, in slices as long as they may be: a sum of its own for products with low terms, on B split by
/// the blocks and on B prepared, and such products first.
std::vector<ops::Config> configs(const ops::SpmmQuery& query) {
  constexpr std::int64_t most_slice_blocks = 64;
  UnpackMmaConfig apart{.mode = PackedMode::f16x3, .row_warps = 1, .warp_strips = 2, .warp_columns = 16, .stages = 3};
  apart.k_split = static_cast<int>(ceil_div(packed_k_blocks(query.statistics.cols), most_slice_blocks));
  UnpackMmaConfig prepared = apart;
  prepared.prepare_dense = true;
  prepared.column_warps = 2;
  prepared.warp_columns = 8;
  UnpackMmaConfig low_first = prepared;
  low_first.column_warps = 1;
  low_first.warp_strips = 4;
  low_first.warp_columns = 32;
  static_assert(has_low_sums({.mode = PackedMode::f16x3, .warp_strips = 2, .warp_columns = 16}));
  static_assert(!has_low_sums({.mode = PackedMode::f16x3, .warp_strips = 4, .warp_columns = 32}));
  return {ops::Config::of(apart), ops::Config::of(prepared), ops::Config::of(low_first)};
}

/// The largest errors over the configs and devices.
Errors worst_errors(const UnpackCase& c) {
  Errors worst;
  for (const NamedDevice& on : devices()) {
    const ops::SpmmQuery query = c.query(on.device.get());
    REQUIRE(family().declines(query).value_or("") == "");
    for (const ops::Config& config : configs(query)) {
      const auto reason = family().forbidden(query, config);
      INFO(to_text(config.to_map()));
      CHECK_MESSAGE(!reason, *reason);
      const Errors errors = errors_of(c, run_unpack(*on.device, family(), c, config));
      INFO(on.name, ": worst ", errors.worst, ", normwise ", errors.normwise);
      CHECK(errors.worst <= 1);
      worst.worst = std::max(worst.worst, errors.worst);
      worst.normwise = std::max(worst.normwise, errors.normwise);
    }
  }
  return worst;
}

constexpr std::array lengths = {64, 300, 4096};

}  // namespace

TEST_CASE("accuracy: normal and uniform values stay within the promise, and normwise near f32's own rounding") {
  for (const std::int64_t k : lengths)
    for (const double sparsity : {0.0, 0.7}) {
      const Errors normal_errors = worst_errors(make_case(k, sparsity, normal, normal, seed));
      CHECK(normal_errors.normwise <= 0x1p-21);
      const Errors uniform_errors = worst_errors(make_case(k, sparsity, uniform, uniform, seed));
      CHECK(uniform_errors.normwise <= 0x1p-21);
      MESSAGE("k = " << k << ", sparsity " << sparsity << ": normal " << normal_errors.worst << " and "
                     << normal_errors.normwise << ", uniform " << uniform_errors.worst << " and "
                     << uniform_errors.normwise);
    }
}

TEST_CASE("accuracy: rows and columns of equal elements, which round and are cut all alike, stay within the promise") {
  std::vector<double> of_row, of_column;
  sparse::Random random(seed);
  for (std::int64_t i = 0; i < rows; ++i) of_row.push_back(0.5 + random.uniform());
  for (std::int64_t i = 0; i < n; ++i) of_column.push_back(0.5 + random.uniform());
  const auto a = [&](sparse::Random&, std::int64_t row, std::int64_t) { return of_row[static_cast<std::size_t>(row)]; };
  const auto b = [&](sparse::Random&, std::int64_t column, std::int64_t) {
    return of_column[static_cast<std::size_t>(column)];
  };
  for (const std::int64_t k : {64, 1000, 4096, 8192})
    MESSAGE("k = " << k << ": worst " << worst_errors(make_case(k, 0.0, a, b, seed)).worst);
}

TEST_CASE("accuracy: K = 65536, all elements equal, stays within the promise in 16 slices") {
  if (thread_sanitized) {
    MESSAGE("skipped: 1024 k blocks take ThreadSanitizer too long");
    return;
  }
  const auto a = [](sparse::Random&, std::int64_t row, std::int64_t) {
    return 1.0 + 0.0137 * static_cast<double>(row);
  };
  const auto b = [](sparse::Random&, std::int64_t column, std::int64_t) {
    return 0.7 + 0.0171 * static_cast<double>(column);
  };
  const UnpackCase c = make_case(65536, 0.0, a, b, seed);
  const NamedDevice& on = devices().front();
  const ops::Config config = configs(c.query(on.device.get())).front();
  CHECK(config.as<UnpackMmaConfig>().k_split == 16);
  const Errors errors = errors_of(c, run_unpack(*on.device, family(), c, config));
  MESSAGE("worst " << errors.worst << ", normwise " << errors.normwise);
  CHECK(errors.worst <= 1);
}

TEST_CASE("accuracy: sums that cancel stay within the promise") {
  const auto a = [](sparse::Random& random, std::int64_t, std::int64_t i) {
    return (i % 2 == 0 ? 1 : -1) * (1 + 0.001 * random.uniform());
  };
  const auto b = [](sparse::Random& random, std::int64_t, std::int64_t) { return 1 + 0.001 * random.uniform(); };
  for (const std::int64_t k : lengths)
    MESSAGE("k = " << k << ": worst " << worst_errors(make_case(k, 0.0, a, b, seed)).worst);
}

TEST_CASE("accuracy: rows and columns with one huge element stay within the promise") {
  const auto with_spike = [](sparse::Random& random, std::int64_t line, std::int64_t i) {
    return random.normal() * (i == line * 7 % 61 ? std::pow(10.0, static_cast<double>(line % 12)) : 1.0);
  };
  for (const std::int64_t k : {64, 300}) {
    MESSAGE("k = " << k << ": worst " << worst_errors(make_case(k, 0.0, with_spike, with_spike, seed)).worst);
    worst_errors(make_case(k, 0.0, with_spike, normal, seed + 1));
    worst_errors(make_case(k, 0.0, normal, with_spike, seed + 2));
  }
}

TEST_CASE("accuracy: magnitudes from 1e-30 to 1e30, by line and by element, stay within the promise") {
  // Rows from 1e-30 to 1e30 against columns that take products back into f32's range, and the other way round.
  const auto by_line = [](double first, double last) {
    return [=](sparse::Random& random, std::int64_t line, std::int64_t) {
      return random.normal() * std::pow(10.0, first + (last - first) * static_cast<double>(line % 16) / 15);
    };
  };
  const auto by_element = [](sparse::Random& random, std::int64_t, std::int64_t) {
    return random.normal() * std::pow(10.0, 60 * random.uniform() - 30);
  };
  MESSAGE("wide rows: worst " << worst_errors(make_case(300, 0.5, by_line(-30, 30), by_line(-7, 7), seed)).worst);
  MESSAGE("wide columns: worst " << worst_errors(make_case(300, 0.5, by_line(-7, 7), by_line(-30, 30), seed)).worst);
  MESSAGE("tiny times huge: worst "
          << worst_errors(make_case(4096, 0.0, by_line(-37, -30), by_line(30, 37.5), seed)).worst);
  MESSAGE("huge times tiny: worst "
          << worst_errors(make_case(4096, 0.0, by_line(30, 37.5), by_line(-37, -30), seed)).worst);
  MESSAGE("wide elements: worst " << worst_errors(make_case(300, 0.5, by_element, by_line(-7, 7), seed)).worst);
  MESSAGE("wide elements of B: worst " << worst_errors(make_case(300, 0.5, by_line(-7, 7), by_element, seed)).worst);
}

TEST_CASE("accuracy: denormal operands and products stay within the promise") {
  const auto denormal = [](sparse::Random& random, std::int64_t, std::int64_t) { return random.normal() * 0x1p-130; };
  const auto small = [](sparse::Random& random, std::int64_t, std::int64_t) { return random.normal() * 0x1p-66; };
  const auto mixed = [](sparse::Random& random, std::int64_t, std::int64_t i) {
    return random.normal() * (i % 2 == 0 ? 1 : 0x1p-140);
  };
  worst_errors(make_case(300, 0.3, denormal, normal, seed));
  worst_errors(make_case(300, 0.3, normal, denormal, seed));
  worst_errors(make_case(300, 0.3, small, small, seed));
  worst_errors(make_case(300, 0.3, mixed, mixed, seed));
}

TEST_CASE("accuracy: zeros among the values of a row, and lines of zeros, are zeros") {
  const auto zero = [](sparse::Random&, std::int64_t, std::int64_t) { return 0.0; };
  const auto zero_lines = [](sparse::Random& random, std::int64_t line, std::int64_t) {
    return line % 3 == 0 ? 0.0 : random.normal();
  };
  CHECK(worst_errors(make_case(300, 0.3, zero, normal, seed)).worst == 0);
  CHECK(worst_errors(make_case(300, 0.3, normal, zero, seed)).worst == 0);
  worst_errors(make_case(300, 0.3, zero_lines, zero_lines, seed));
}

TEST_CASE("accuracy: what is not finite leaves the accuracy of other rows and columns as it is") {
  const float infinity = std::numeric_limits<float>::infinity();
  UnpackCase c = make_case(300, 0.3, normal, normal, seed);
  const auto first_of = [&](std::size_t row) { return static_cast<std::size_t>(c.host.walked.row_offsets[row]); };
  c.host.values[first_of(3)] = infinity;
  c.host.values[first_of(20) + 5] = NAN;
  c.host.dense[17 * n + 2] = -infinity;
  c.host.dense[200 * n + 9] = NAN;
  UnpackCase clean = c;  // for norms and references: what is not finite is left out
  for (float& value : clean.host.values) value = std::isfinite(value) ? value : 0;
  for (float& value : clean.host.dense) value = std::isfinite(value) ? value : 0;
  for (const NamedDevice& on : devices()) {
    const ops::SpmmQuery query = c.query(on.device.get());
    for (const ops::Config& config : configs(query)) {
      std::vector<float> output = run_unpack(*on.device, family(), c, config);
      const std::vector<float> of_clean = run_unpack(*on.device, family(), clean, config);
      for (std::size_t i = 0; i < output.size(); ++i) {
        if (i / n == 3 || i / n == 20) REQUIRE(!std::isfinite(output[i]));
        else if (i % n != 2 && i % n != 9) REQUIRE(std::isfinite(output[i]));
        if (!std::isfinite(output[i])) output[i] = of_clean[i];
      }
      CHECK(errors_of(clean, output).worst <= 1);
    }
  }
}
