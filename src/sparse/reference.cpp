#include "sparse/reference.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "sparse/elements.hpp"

namespace vostok::sparse {
namespace {

constexpr std::int64_t block_columns = 16;  // as many sums as fit in the vector registers of any 64-bit machine

using Block = std::array<double, block_columns>;

/// One thread's share of the product: some rows of C, a block of its columns.
struct Task {
  std::int64_t first_row = 0;
  std::int64_t last_row = 0;
  std::int64_t first_column = 0;
};

struct Product {
  const Csr& a;
  std::span<const float> values;
  std::span<const float> dense;
  std::int64_t n;
  std::int64_t dense_leading;
  std::vector<double>& output;

  /// The block of B as doubles, contiguous; zero past the last column.
  void pack(std::int64_t first_column, std::vector<Block>& packed) const {
    const std::int64_t columns = std::min(block_columns, n - first_column);
    for (std::int64_t row = 0; row < a.cols; ++row) {
      const float* const source = dense.data() + row * dense_leading + first_column;
      packed[row] = {};
      std::copy(source, source + columns, packed[row].begin());
    }
  }

  Block row_block(std::int64_t row, const std::vector<Block>& packed) const {
    Block sums{};
    for (std::int64_t i = a.row_offsets[row]; i < a.row_offsets[row + 1]; ++i) {
      const Block& line = packed[a.column_indices[i]];
      const auto value = static_cast<double>(values[i]);
      for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += value * line[j];
    }
    return sums;
  }

  void run(const Task& task, std::vector<Block>& packed) const {
    pack(task.first_column, packed);
    const std::int64_t columns = std::min(block_columns, n - task.first_column);
    for (std::int64_t row = task.first_row; row < task.last_row; ++row) {
      const Block sums = row_block(row, packed);
      std::copy_n(sums.begin(), columns, output.begin() + row * n + task.first_column);
    }
  }
};

/// Blocks of columns; where those are fewer than the threads, each is cut into ranges of rows.
std::vector<Task> cut(std::int64_t rows, std::int64_t n, std::int64_t threads) {
  std::vector<Task> tasks;
  const std::int64_t blocks = ceil_div(n, block_columns);
  if (rows == 0 || blocks == 0) return tasks;
  const std::int64_t task_rows = ceil_div(rows, ceil_div(threads, blocks));
  for (std::int64_t column = 0; column < n; column += block_columns) {
    for (std::int64_t row = 0; row < rows; row += task_rows)
      tasks.push_back({row, std::min(rows, row + task_rows), column});
  }
  return tasks;
}

void check_operands(const Csr& a, std::span<const float> values, std::span<const float> dense, std::int64_t n,
                    std::int64_t dense_leading) {
  const auto refuse = [](const std::string& reason) {
    fail(ErrorCode::invalid_argument, "cannot multiply: {}", reason);
  };
  if (n < 0 || dense_leading < n) refuse(fmt::format("n = {} with a leading dimension of {}", n, dense_leading));
  if (static_cast<std::int64_t>(values.size()) != a.nonzeros())
    refuse(fmt::format("{} values for {} nonzeros", values.size(), a.nonzeros()));
  const std::int64_t needed = a.cols == 0 || n == 0 ? 0 : (a.cols - 1) * dense_leading + n;
  if (static_cast<std::int64_t>(dense.size()) < needed)
    refuse(fmt::format("the dense operand has {} elements of {}", dense.size(), needed));
}

double activated(double x, Activation activation) {
  switch (activation) {
    case Activation::none: return x;
    case Activation::relu: return x < 0 ? 0 : x;
    case Activation::gelu:
      return x * 0.5 * std::erfc(-x * 0.70710678118654752440);  // erfc: exact far below zero, where 1 + erf cancels
    case Activation::gelu_tanh:
      return x / (1 + std::exp(-1.59576912160573071176 * (x + 0.044715 * x * x * x)));  // 0.5 x (1 + tanh)
    case Activation::silu: return x / (1 + std::exp(-x));
  }
  fail(ErrorCode::internal, "cannot apply activation {}: it has no reference", static_cast<int>(activation));
}

bool same_non_finite(float y, float expected) { return y == expected || (std::isnan(y) && std::isnan(expected)); }

}  // namespace

std::vector<double> spmm(const Csr& a, std::span<const float> values, std::span<const float> dense, std::int64_t n,
                         std::int64_t dense_leading) {
  check_operands(a, values, dense, n, dense_leading);
  std::vector<double> output(static_cast<std::size_t>(checked_multiply(a.rows, n, "the product's elements")));
  const Product product{a, values, dense, n, dense_leading, output};
  const std::int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::vector<Task> tasks = cut(a.rows, n, cores);

  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    std::vector<Block> packed(static_cast<std::size_t>(a.cols));
    for (std::size_t i = next++; i < tasks.size(); i = next++) product.run(tasks[i], packed);
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < std::min(tasks.size(), static_cast<std::size_t>(cores)); ++i) threads.emplace_back(work);
  work();
  threads.clear();  // joins
  return output;
}

void apply_epilogue(std::span<double> c, std::int64_t m, std::int64_t n, const Epilogue& epilogue,
                    const EpilogueOperands& operands) {
  const auto require = [](const char* what, std::int64_t needed, std::span<const float> given) {
    if (needed > static_cast<std::int64_t>(given.size()))
      fail(ErrorCode::invalid_argument, "cannot apply the epilogue: {} {} values of {}", given.size(), what, needed);
  };
  require("bias", epilogue.bias == Bias::none ? 0 : epilogue.bias == Bias::per_row ? m : n, operands.bias);
  require("residual", epilogue.residual ? m * n : 0, operands.residual);
  require("previous", epilogue.accumulate ? m * n : 0, operands.previous);
  const double factor = epilogue.scale == Scale::one ? 1 : operands.scale;
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      const std::int64_t at = row * n + column;
      double sum = factor * c[at];
      if (epilogue.bias != Bias::none)
        sum += static_cast<double>(operands.bias[epilogue.bias == Bias::per_row ? row : column]);
      if (epilogue.residual) sum += static_cast<double>(operands.residual[at]);
      if (epilogue.accumulate) sum += static_cast<double>(operands.previous[at]);
      c[at] = activated(sum, epilogue.activation);
    }
  }
}

double relative_error(std::span<const float> y, std::int64_t leading, std::span<const double> r, std::int64_t m,
                      std::int64_t n, Dtype type) {
  const double unseen = smallest_value(type) / 2;
  double differences = 0;
  double squares = 0;
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      const float found = y[row * leading + column];
      const double wanted = r[row * n + column];
      const float rounded = round_to(type, static_cast<float>(wanted));
      if (!std::isfinite(found) || !std::isfinite(rounded)) {
        if (!same_non_finite(found, rounded)) return std::numeric_limits<double>::infinity();
        continue;
      }
      const double difference = std::max(std::fabs(static_cast<double>(found) - wanted) - unseen, 0.0);
      differences += difference * difference;
      squares += wanted * wanted;
    }
  }
  return squares == 0 ? std::sqrt(differences)
                      : std::sqrt(differences / squares);  // differences are y's own where r is zero
}

double sum_tolerance(std::int64_t longest, Dtype output) {
  const double sum = 4e-8 * std::sqrt(static_cast<double>(longest)) + 1e-7;
  return output == Dtype::f32 ? sum : sum + unit_roundoff(output);
}

double product_tolerance(std::int64_t longest, Dtype element, Math math, Dtype output) {
  const bool rounded = element == Dtype::f32 && math == Math::tf32;
  return sum_tolerance(longest, output) + (rounded ? 0x1p-10 : 0);
}

}  // namespace vostok::sparse
