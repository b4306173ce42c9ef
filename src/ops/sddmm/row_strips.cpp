#include "ops/sddmm/row_strips.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/dense_transpose.hpp"
#include "ops/families.hpp"
#include "ops/grid.hpp"
#include "ops/sddmm/sum_parts.hpp"

namespace vostok::ops {

namespace row_strips {

namespace {

static_assert(codegen::lists_every_field<RowStripsTraits>(), "fields(RowStripsTraits) must name every member");
static_assert(codegen::lists_every_field<RowStripsConfig>(), "fields(RowStripsConfig) must name every member");
static_assert(std::is_trivially_copyable_v<RowStripsArgs> && sizeof(RowStripsArgs) <= max_argument_bytes);

constexpr std::int64_t workspace_alignment = 256;
constexpr std::int64_t most_bytes_of_32_bits = std::numeric_limits<std::int32_t>::max();
/// The length of the kernel's blocks of products.
constexpr std::int64_t blocked_sum_length = 256;

DenseRows dense_rows(const SddmmQuery& query, Layout layout, std::int64_t rows, const StoredMatrix& stored,
                     std::int64_t workspace_offset) {
  const std::int64_t element_bytes = size_of(query.problem.element);
  if (layout == Layout::row_major) {
    const std::int64_t between = query.problem.batch > 1 ? std::gcd(stored.leading, stored.stride) : stored.leading;
    return {.leading = stored.leading,
            .stride = stored.stride,
            .alignment = std::gcd(std::int64_t{query.problem.alignment_bytes}, between * element_bytes)};
  }
  const std::int64_t leading = round_up(query.problem.n, 16 / element_bytes);
  const std::int64_t bytes =
      checked_multiply(checked_multiply(query.problem.batch, rows * leading, "the workspace's bytes"), element_bytes,
                       "the workspace's bytes");
  return {.transposed = true,
          .leading = leading,
          .stride = rows * leading,
          .workspace_offset = workspace_offset,
          .workspace_bytes = round_up(bytes, workspace_alignment),
          .alignment = 16};
}

}  // namespace

DenseOperands dense_operands(const SddmmQuery& query) {
  DenseOperands operands;
  operands.lhs = dense_rows(query, query.problem.lhs_layout, query.statistics.rows, query.lhs(), 0);
  operands.rhs =
      dense_rows(query, query.problem.rhs_layout, query.statistics.cols, query.rhs(), operands.lhs.workspace_bytes);
  return operands;
}

std::int64_t part_length(const SddmmQuery& query, const RowStripsConfig& config) {
  const std::int64_t n = query.problem.n;
  return config.n_split == 1 ? std::max<std::int64_t>(n, 1)
                             : round_up(ceil_div(n, config.n_split), step_length(config));
}

RowStripsTraits traits(const SddmmQuery& query) {
  const Sddmm& problem = query.problem;
  const DenseOperands dense = dense_operands(query);
  const std::int64_t rhs_bytes = checked_multiply(
      checked_multiply(query.statistics.cols, dense.rhs.leading, "bytes of B"), size_of(problem.element), "bytes of B");
  return {.element = problem.element,
          .output = problem.output.value_or(problem.element),
          .index = problem.index,
          .wide_offsets = rhs_bytes > most_bytes_of_32_bits,
          .blocked_sum = problem.math != Math::strict && problem.n > blocked_sum_length,
          .dense_alignment = static_cast<int>(std::min(dense.lhs.alignment, dense.rhs.alignment)),
          .scale = problem.scale,
          .multiply = problem.multiply,
          .accumulate = problem.accumulate};
}

}  // namespace row_strips

namespace {

using row_strips::DenseRows;

/// Fills the kernel's arguments from a call's.
struct RowStripsBinding {
  TopologyPointers topology;
  DenseRows lhs;
  DenseRows rhs;
  std::int64_t n;
  std::int64_t batch;
  std::int64_t output_stride;
  std::int64_t multiplier_stride;
  std::int64_t part_length;
  int parts;
  std::int64_t parts_offset;  ///< bytes of the workspace before the parts of sums
  int strips_per_block;
  bool column_bands;
  std::int64_t rows;

  /// Average strips of a row.
  std::int64_t bands() const {
    return column_bands ? std::max<std::int64_t>(1, (topology.strip_count + rows / 2) / std::max<std::int64_t>(rows, 1))
                        : 1;
  }

  static const void* operand(const DenseRows& rows, const void* given, void* workspace) {
    return rows.transposed ? workspace_at(workspace, rows.workspace_offset) : given;
  }

  device::Dim3 operator()(const SddmmArguments& call, RowStripsArgs& args) const {
    args = {.lhs = operand(lhs, call.lhs, call.workspace),
            .rhs = operand(rhs, call.rhs, call.workspace),
            .output = parts > 1 ? workspace_at(call.workspace, parts_offset) : call.output,
            .multiplier = call.multiplier,
            .device_scale = call.device_scale,
            .column_indices = topology.column_indices,
            .strips = topology.strips,
            .strip_count = topology.strip_count,
            .bands = bands(),
            .n = n,
            .lhs_leading = lhs.leading,
            .rhs_leading = rhs.leading,
            .lhs_stride = lhs.stride,
            .rhs_stride = rhs.stride,
            .output_stride = output_stride,
            .multiplier_stride = multiplier_stride,
            .batch = batch,
            .part_length = part_length,
            .scale = call.scale};
    return grid_of(ceil_div(topology.strip_count, strips_per_block * bands()) * bands(), batch * parts);
  }
};

/// The transposition of one operand into the workspace.
Launch transpose_operand(const SddmmQuery& query, const void* SddmmArguments::* operand, const StoredMatrix& stored,
                         const DenseRows& rows) {
  return transpose_launch<SddmmArguments>(
      query.problem.element, false, [=, batch = query.problem.batch](const SddmmArguments& call) {
        return DenseTransposition{.source = call.*operand,
                                  .destination = workspace_at(call.workspace, rows.workspace_offset),
                                  .rows = stored.lines,
                                  .columns = stored.length,
                                  .source_leading = stored.leading,
                                  .destination_leading = rows.leading,
                                  .source_stride = stored.stride,
                                  .destination_stride = rows.stride,
                                  .batch = batch};
      });
}

/// Traits of a kernel that writes parts of sums: scale, multiplication and accumulation are left to the kernel that
/// adds them.
RowStripsTraits sums_alone(RowStripsTraits traits) {
  traits.output = Dtype::f32;
  traits.scale = Scale::one;
  traits.multiply = traits.accumulate = false;
  return traits;
}

struct RowStrips {
  using Query = SddmmQuery;
  using Config = RowStripsConfig;
  static constexpr std::string_view name = "row_strips";

  static std::optional<std::string> declines(const SddmmQuery& query) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (query.statistics.rows > most || query.statistics.nonzeros > most)
      return "row numbers and positions of nonzeros have 32 bits";
    if (query.problem.batch > most_blocks_on_y * most_blocks_on_y / most_strip_parts())
      return "the grid has no place for so many matrices";
    return std::nullopt;
  }

  static constexpr auto default_config = row_strips::default_config;
  static constexpr auto space = row_strips::space;
  static constexpr auto short_list = row_strips::short_list;
  static constexpr auto forbidden = row_strips::forbidden;
  static constexpr auto predict_us = row_strips::predict_us;

  static TopologyNeeds needs(const SddmmQuery& query, const RowStripsConfig& config) {
    return {.index = query.index, .strip_entries = config.strip_entries};
  }

  static std::int64_t workspace_bytes(const SddmmQuery& query, const RowStripsConfig& config) {
    const row_strips::DenseOperands dense = row_strips::dense_operands(query);
    return dense.workspace_bytes() + (config.n_split > 1 ? part_bytes(query, config.n_split) : 0);
  }

  static std::vector<Launch> launches(const SddmmQuery& query, const RowStripsConfig& config,
                                      const TopologyPointers& topology) {
    const row_strips::DenseOperands dense = row_strips::dense_operands(query);
    std::vector<Launch> list;
    if (dense.lhs.transposed) list.push_back(transpose_operand(query, &SddmmArguments::lhs, query.lhs(), dense.lhs));
    if (dense.rhs.transposed) list.push_back(transpose_operand(query, &SddmmArguments::rhs, query.rhs(), dense.rhs));

    RowStripsTraits traits = row_strips::traits(query);
    if (config.n_split > 1) traits = sums_alone(traits);
    codegen::KernelRequest request = {
        .family = std::string(name),
        .header = "sddmm/row_strips.h",
        .expression = codegen::name_expression("row_strips", "RowStripsTraits", traits, "RowStripsConfig", config)};
    const device::LaunchShape shape = {
        .grid = {}, .block = {static_cast<unsigned>(threads(config))}, .shared_bytes = shared_bytes(traits, config)};
    const RowStripsBinding binding = {
        .topology = topology,
        .lhs = dense.lhs,
        .rhs = dense.rhs,
        .n = query.problem.n,
        .batch = query.problem.batch,
        .output_stride = config.n_split > 1 ? query.statistics.nonzeros : query.output().stride,
        .multiplier_stride = query.problem.multiplier_stride,
        .part_length = row_strips::part_length(query, config),
        .parts = config.n_split,
        .parts_offset = dense.workspace_bytes(),
        .strips_per_block = config.strips_per_block,
        .column_bands = config.column_bands,
        .rows = query.statistics.rows};
    list.push_back(Launch::of<SddmmArguments, RowStripsArgs>(std::move(request), shape, binding));
    if (config.n_split > 1) list.push_back(sum_parts_launch(query, config.n_split, dense.workspace_bytes()));
    return list;
  }
};

}  // namespace

std::unique_ptr<Family> make_row_strips() { return family_of<RowStrips>(); }

}  // namespace vostok::ops
