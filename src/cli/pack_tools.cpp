#include "cli/pack_tools.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include <vostok/tools.hpp>

#include "sparse/transpose.hpp"

namespace vostok::cli {

namespace {

/// Operations whose output is the values of a sparse matrix.
template <class Problem>
constexpr bool writes_values =
    std::is_same_v<Problem, Sddmm> || std::is_same_v<Problem, Softmax> || std::is_same_v<Problem, SoftmaxBackward>;

/// Addresses of operands that are passed but never touched. The distance between them exceeds any operand.
void* nowhere() { return reinterpret_cast<void*>(std::uintptr_t{1} << 12U); }
void* nowhere_else() { return reinterpret_cast<void*>(std::uintptr_t{1} << 62U); }

/// Runs a tool and ignores the error about its missing result, which comes after all its kernels are compiled.
template <class Tool>
void compile(const Tool& tool) {
  try {
    tool();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_device) throw;
  }
}

void compile_conversions(const Context& context, const Topology& topology, Dtype type) {
  const auto [rows, cols] = std::pair(topology.rows(), topology.cols());
  const DenseView dense{.data = nowhere(), .rows = rows, .cols = cols, .element = type};
  compile([&] { sparse_above(context, dense, 0); });
  for (const Per per : {Per::matrix, Per::row}) compile([&] { sparse_largest(context, dense, 1, per); });
  to_dense(topology, nowhere(), {.data = nowhere_else(), .element = type});
}

void compile_permutations(const Context& context, const sparse::Csr& matrix, const Topology& topology) {
  if (matrix.nonzeros() > std::numeric_limits<std::int32_t>::max()) return;  // transposing is not supported
  compile([&] { transpose(topology); });
  compile([&] { sort_columns(topology); });
  // Whatever is made from the transpose's arrays has its shape.
  context.topology(sparse::transpose(matrix).csr.view());
}

void compile_index_arrays(const Topology& topology) {
  read_csr(topology, static_cast<std::int32_t*>(nowhere()), static_cast<std::int32_t*>(nowhere_else()));
  read_csr(topology, static_cast<std::int64_t*>(nowhere()), static_cast<std::int64_t*>(nowhere_else()));
  linear_indices(topology, static_cast<std::int64_t*>(nowhere()));
  constexpr std::int64_t most_narrow = std::int64_t{1} << 31;
  if (topology.rows() * topology.cols() <= most_narrow) linear_indices(topology, static_cast<std::int32_t*>(nowhere()));
}

/// Masks with the matrix's own sparsity, because arrays are allocated for the mask's nonzeros.
void compile_masks(const Context& context, const sparse::Csr& matrix) {
  const std::int64_t rows = matrix.rows, cols = matrix.cols;
  const double sparsity =
      1 - static_cast<double>(matrix.nonzeros()) / static_cast<double>(rows) / static_cast<double>(cols);
  compile([&] { make_mask(context, UniformMask{.rows = rows, .cols = cols, .sparsity = sparsity}); });
  compile([&] { make_mask(context, BlockMask{.rows = rows, .cols = cols, .sparsity = sparsity}); });
  compile([&] { make_mask(context, BandedMask{.rows = rows, .cols = cols}); });
  // The mask's probabilities, one for each distance from the diagonal, are made on the host, and its kernels are
  // the same for every shape.
  constexpr std::int64_t few = 64;
  compile([&] { make_mask(context, AttentionMask{.rows = std::min(rows, few), .cols = std::min(cols, few)}); });
}

}  // namespace

std::vector<Dtype> value_types(const AnyProblem& problem) {
  return std::visit(
      [](const auto& one) {
        using Problem = std::remove_cvref_t<decltype(one)>;
        std::vector<Dtype> types;
        if constexpr (requires { one.forward.element; }) types.push_back(one.forward.element);
        else if constexpr (Problem::masked) types.push_back(one.element);
        if constexpr (writes_values<Problem>)
          if (const Dtype output = one.output.value_or(one.element); output != one.element) types.push_back(output);
        return types;
      },
      problem);
}

void compile_tools(const Context& context, const sparse::Csr& matrix, const Topology& topology,
                   const std::vector<Dtype>& types) {
  if (matrix.rows == 0 || matrix.cols == 0) return;
  for (const Dtype type : types) compile_conversions(context, topology, type);
  compile_permutations(context, matrix, topology);
  compile_index_arrays(topology);
  compile_masks(context, matrix);
}

}  // namespace vostok::cli
