#include "ops/sddmm/operand_maps.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace vostok::ops {

namespace {

constexpr int map_alignment = 16;

std::array<StoredMatrix, 2> operands(const SddmmQuery& query) { return {query.lhs(), query.rhs()}; }

}  // namespace

TensorBoxes OperandBoxes::of(const void* operand) const {
  constexpr int edge = 64;
  const bool along_n = layout == Layout::row_major;
  const long long line_bytes = stored.leading * size_of(element);
  // A single matrix has no next one, and its size need not be a legal stride.
  const long long matrix_bytes = batch > 1 ? stored.stride * size_of(element) : line_bytes;
  return {.address = operand,
          .sizes = {along_n ? n : rows, along_n ? rows : n, batch},
          .stride_bytes = {line_bytes, matrix_bytes},
          .box = {edge, along_n ? tile_rows : edge},
          .element = element};
}

bool lacks_tensor_maps(const SddmmQuery& query) { return query.device != nullptr && !query.device->has_tensor_maps(); }

bool is_unaligned_for_maps(const SddmmQuery& query) {
  const Sddmm& problem = query.problem;
  return std::ranges::any_of(operands(query), [&](const StoredMatrix& stored) {
    const std::int64_t between = problem.batch > 1 ? std::gcd(stored.leading, stored.stride) : stored.leading;
    return std::gcd(std::int64_t{problem.alignment_bytes}, between * size_of(problem.element)) % map_alignment != 0;
  });
}

bool is_past_tensor_maps(const SddmmQuery& query) {
  constexpr std::int64_t longest_box = 256;  // places past the matrix count, too
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() - longest_box;
  constexpr std::int64_t most_stride_bytes = (std::int64_t{1} << 40) - 1;
  const Sddmm& problem = query.problem;
  if (std::max({problem.n, query.statistics.rows, query.statistics.cols, problem.batch}) > most) return true;
  const std::int64_t most_stride = most_stride_bytes / size_of(problem.element);
  return std::ranges::any_of(operands(query), [&](const StoredMatrix& stored) {
    return stored.leading > most_stride || (problem.batch > 1 && stored.stride > most_stride);
  });
}

bool takes_tensor_maps(const SddmmQuery& query) {
  return !lacks_tensor_maps(query) && !is_unaligned_for_maps(query) && !is_past_tensor_maps(query);
}

}  // namespace vostok::ops
