#include "ops/sddmm/sample_launch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/checked.hpp"
#include "ops/dense_transpose.hpp"
#include "ops/limits.hpp"
#include "ops/machine.hpp"

namespace vostok::ops::sampled {

namespace {

/// The most sums that a second accumulator can add within the error bound of `accurate`: each addition rounds, and all
/// in one direction if all elements are alike.
constexpr std::int64_t most_sums = 64;

SampledRows rows_of(const StoredMatrix& stored, Layout layout) {
  const bool row_major = layout == Layout::row_major;
  return {.first = nullptr,
          .row_step = row_major ? stored.leading : 1,
          .n_step = row_major ? 1 : stored.leading,
          .stride = stored.stride};
}

}  // namespace

TensorSampleTraits traits(const SddmmQuery& query, int n_split) {
  const Sddmm& problem = query.problem;
  const bool one_block = problem.n <= sample_block();
  if (n_split > 1)
    return {.element = problem.element, .output = Dtype::f32, .one_block = one_block, .certify = certifies(query)};
  return {.element = problem.element,
          .output = problem.output.value_or(problem.element),
          .one_block = one_block,
          .scale = problem.scale,
          .multiply = problem.multiply,
          .accumulate = problem.accumulate,
          .certify = certifies(query)};
}

std::int64_t n_steps(const SddmmQuery& query) { return ceil_div(query.problem.n, 16); }
std::int64_t n_blocks(const SddmmQuery& query) { return ceil_div(query.problem.n, sample_block()); }
std::int64_t part_blocks(const SddmmQuery& query, int n_split) { return ceil_div(n_blocks(query), n_split); }
bool has_empty_parts(const SddmmQuery& query, int n_split) {
  return n_split > 1 && (n_split - 1) * part_blocks(query, n_split) >= n_blocks(query);
}

bool adds_few_sums(const SddmmQuery& query, int promotion_steps, int n_split) {
  if (query.problem.element != Dtype::f32 || query.problem.math != Math::accurate || promotion_steps == 0) return true;
  return part_blocks(query, n_split) * steps_of_block() / promotion_steps <= most_sums;
}

int least_split(const SddmmQuery& query, int promotion_steps) {
  if (query.problem.element != Dtype::f32 || query.problem.math != Math::accurate || promotion_steps == 0) return 1;
  const std::int64_t blocks = most_sums * promotion_steps / steps_of_block();
  return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(ceil_div(n_blocks(query), blocks))));
}

int filling_split(const SddmmQuery& query, const TileShape& shape, int blocks_per_multiprocessor, int least) {
  const double room = machine_of(query).multiprocessors * blocks_per_multiprocessor;
  const double tiles = expected_tiles(query, shape) * static_cast<double>(query.problem.batch);
  int split = least;
  while (split < 64 && tiles * split * 2 <= room && n_blocks(query) >= std::int64_t{2} * split) split *= 2;
  return split;
}

double expected_tiles(const SddmmQuery& query, const TileShape& shape, double share) {
  const TopologyStatistics& s = query.statistics;
  const double all =
      static_cast<double>(ceil_div(s.rows, shape.rows)) * static_cast<double>(ceil_div(s.cols, shape.columns));
  if (all == 0) return 0;
  const double within = share * all;
  return within * (1 - std::exp(-static_cast<double>(s.nonzeros) / within));
}

double expected_entries(const SddmmQuery& query, const TileShape& shape) {
  return static_cast<double>(query.statistics.nonzeros) / std::max(expected_tiles(query, shape), 1.0);
}

int list_room(const SddmmQuery& query, const TileShape& shape, int most) {
  const double entries = expected_entries(query, shape);
  const double wanted = entries + 4 * std::sqrt(entries) + 32;
  return static_cast<int>(
      std::min<std::uint64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::min<double>(wanted, most))), most));
}

double moved_us(const SddmmQuery& query, double bytes) {
  constexpr double cached_bytes_per_us = 4e6;
  const Machine machine = machine_of(query);
  return bytes / (bytes < cached_bytes ? cached_bytes_per_us * machine.speed() : machine.memory_bytes_per_us);
}

double prepare_us(const SddmmQuery& query, PackedMode mode) {
  const auto rows = static_cast<double>(query.statistics.rows + query.statistics.cols);
  const double elements = rows * static_cast<double>(query.problem.n * query.problem.batch);
  constexpr double overlapped_launch_us = 1.0;
  return overlapped_launch_us + moved_us(query, elements * (size_of(query.problem.element) + 2.0 * sample_terms(mode)));
}

double sum_us(const SddmmQuery& query, int n_split) {
  constexpr double launch_us = 1.5;
  if (n_split == 1) return 0;
  return launch_us +
         moved_us(query, static_cast<double>(query.statistics.nonzeros * query.problem.batch) * 4 * (n_split + 1));
}

std::vector<PackedMode> modes(const SddmmQuery& query) {
  if (query.problem.element == Dtype::f16) return {PackedMode::f16x1};
  if (query.problem.element == Dtype::bf16) return {PackedMode::bf16x1};
  if (query.problem.math == Math::tf32) return {PackedMode::f16x1, PackedMode::bf16x3, PackedMode::f16x3};
  return {PackedMode::f16x3};
}

bool serves(const SddmmQuery& query, PackedMode mode) {
  const std::vector<PackedMode> served = modes(query);
  return std::find(served.begin(), served.end(), mode) != served.end();
}

std::optional<std::string> declines(const SddmmQuery& query) {
  // In parts that each add few sums: 256 of them.
  constexpr std::int64_t most_accurate_n = 1 << 20;
  const Sddmm& problem = query.problem;
  if (problem.math == Math::strict)
    return "math = strict is f32 multiply-adds, and this family multiplies on tensor cores";
  if (problem.n == 0) return "n is 0: there is nothing to multiply";
  if (problem.element == Dtype::f32 && problem.math == Math::accurate && problem.n > most_accurate_n)
    return "math = accurate allows tensor cores up to n = 1048576";
  if (problem.n > std::numeric_limits<std::int32_t>::max()) return "blocks of n are numbered in 32 bits";
  return std::nullopt;
}

Binding Binding::of(const SddmmQuery& query, const PreparedRowPair& prepared, const TileLists& lists, int n_split) {
  return {.lists = lists,
          .prepared = prepared,
          .output_stride = n_split > 1 ? query.statistics.nonzeros : query.output().stride,
          .multiplier_stride = query.problem.multiplier_stride,
          .n_steps = sampled::n_steps(query),
          .part_blocks = sampled::part_blocks(query, n_split),
          .batch = query.problem.batch,
          .parts = n_split,
          .n = query.problem.n,
          .lhs = rows_of(query.lhs(), query.problem.lhs_layout),
          .rhs = rows_of(query.rhs(), query.problem.rhs_layout)};
}

TensorSampleArgs Binding::arguments(const SddmmArguments& call) const {
  const auto at = [](SampledRows rows, const void* first) {
    rows.first = static_cast<const float*>(first);
    return rows;
  };
  return {.lists = lists,
          .lhs = prepared.lhs.operand(call.workspace, at(lhs, call.lhs)),
          .rhs = prepared.rhs.operand(call.workspace, at(rhs, call.rhs)),
          .output = parts > 1 ? workspace_at(call.workspace, prepared.bytes) : call.output,
          .multiplier = call.multiplier,
          .device_scale = call.device_scale,
          .output_stride = output_stride,
          .multiplier_stride = multiplier_stride,
          .n_steps = static_cast<unsigned>(n_steps),
          .part_blocks = static_cast<unsigned>(part_blocks),
          .batch = static_cast<unsigned>(batch),
          .scale = call.scale,
          .n = static_cast<unsigned>(n)};
}

}  // namespace vostok::ops::sampled
