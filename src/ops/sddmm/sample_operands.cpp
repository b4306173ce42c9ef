#include "ops/sddmm/sample_operands.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/dense_transpose.hpp"
#include "ops/grid.hpp"
#include "ops/sddmm/sample_launch.hpp"

namespace vostok::ops {

namespace {

static_assert(codegen::lists_every_field<SampleOperandsTraits>(),
              "fields(SampleOperandsTraits) must name every member");
static_assert(codegen::lists_every_field<SampleOperandsConfig>(),
              "fields(SampleOperandsConfig) must name every member");
static_assert(std::is_trivially_copyable_v<SampleOperandsArgs> && sizeof(SampleOperandsArgs) <= max_argument_bytes);

constexpr std::int64_t alignment_bytes = 256;

std::int64_t blocks_of(std::int64_t n) { return ceil_div(n, sample_block()); }

/// The alignment in bytes of every line that is read along n.
int alignment_along_n(const SddmmQuery& query, Layout layout, const StoredMatrix& stored) {
  return layout == Layout::column_major ? size_of(query.problem.element) : line_alignment(query, stored);
}

/// Of a row of a part.
std::int64_t chunks(const SddmmQuery& query, const SampleWork& work) {
  return sampled::part_blocks(query, work.n_split) * (sample_block() / sample_chunk());
}

/// Few threads if rows are short: an eighth of them walks along each row.
SampleOperandsConfig config_for(const SddmmQuery& query, const SampleWork& work) {
  const std::int64_t of_row = chunks(query, work);
  return {.threads = of_row <= 8 ? 64 : of_row <= 16 ? 128 : 256};
}

/// Whether a row is long enough to be kept between its two readings: shorter ones were slower then
/// (bench/notes/sddmm.md#kept-chunks).
bool keeps_chunks(const SddmmQuery& query, const SampleWork& work) {
  const std::int64_t least_size = work.n_split > 1 ? 2048 : 512;
  return sample_scales_rows(work.mode, query.problem.element) && chunks(query, work) * sample_chunk() > least_size;
}

SampleOperandsTraits traits(const SddmmQuery& query, const SampleWork& work) {
  const Sddmm& problem = query.problem;
  return {.element = problem.element,
          .mode = work.mode,
          .lhs_layout = problem.lhs_layout,
          .rhs_layout = problem.rhs_layout,
          .lhs_alignment = alignment_along_n(query, problem.lhs_layout, query.lhs()),
          .rhs_alignment = alignment_along_n(query, problem.rhs_layout, query.rhs()),
          .marked = marks_rows(sampled::traits(query), work),
          .in_parts = work.n_split > 1,
          .keeps = keeps_chunks(query, work)};
}

/// Chunks that a thread keeps in shared memory.
int kept_chunks(const SddmmQuery& query, const SampleWork& work, const SampleOperandsConfig& config) {
  if (!traits(query, work).keeps) return 0;
  const std::int64_t of_thread = ceil_div(chunks(query, work), config.threads / sample_octet_rows());
  return static_cast<int>(std::min<std::int64_t>(of_thread - 1, sample_most_kept_chunks()));
}

struct Binding {
  PreparedRowPair prepared;
  std::int64_t lhs_rows;
  std::int64_t rhs_rows;
  std::int64_t lhs_leading;
  std::int64_t rhs_leading;
  std::int64_t lhs_stride;
  std::int64_t rhs_stride;
  std::int64_t n;
  std::int64_t parts;
  std::int64_t part_blocks;
  std::int64_t batch;
  int kept_chunks;

  static SampleOperand operand(const PreparedRows& rows, const SddmmArguments& call, const void* matrix) {
    return {.matrix = matrix,
            .octets = static_cast<unsigned char*>(workspace_at(call.workspace, rows.octets_offset_bytes)),
            .exponents = static_cast<signed char*>(workspace_at(call.workspace, rows.exponents_offset_bytes)),
            .marks = static_cast<unsigned char*>(workspace_at(call.workspace, rows.marks_offset_bytes)),
            .rows = 0,
            .leading = 0,
            .stride = 0,
            .octet_count = static_cast<unsigned>(rows.octets)};
  }

  device::Dim3 operator()(const SddmmArguments& call, SampleOperandsArgs& args) const {
    args = {.lhs = operand(prepared.lhs, call, call.lhs),
            .rhs = operand(prepared.rhs, call, call.rhs),
            .n = n,
            .n_blocks = static_cast<unsigned>(blocks_of(n)),
            .parts = static_cast<unsigned>(parts),
            .part_blocks = static_cast<unsigned>(part_blocks),
            .lines = static_cast<unsigned>(parts * batch),
            .kept_chunks = static_cast<unsigned>(kept_chunks)};
    args.lhs.rows = lhs_rows;
    args.lhs.leading = lhs_leading;
    args.lhs.stride = lhs_stride;
    args.rhs.rows = rhs_rows;
    args.rhs.leading = rhs_leading;
    args.rhs.stride = rhs_stride;
    return grid_of(prepared.lhs.octets + prepared.rhs.octets, parts * batch);
  }
};

}  // namespace

int line_alignment(const SddmmQuery& query, const StoredMatrix& stored) {
  const std::int64_t between = query.problem.batch > 1 ? std::gcd(stored.leading, stored.stride) : stored.leading;
  return static_cast<int>(
      std::gcd(std::int64_t{query.problem.alignment_bytes}, between * size_of(query.problem.element)));
}

SampledOperand PreparedRows::operand(void* workspace, const SampledRows& rows) const {
  return {.octets = static_cast<const unsigned char*>(workspace_at(workspace, octets_offset_bytes)),
          .exponents = static_cast<const signed char*>(workspace_at(workspace, exponents_offset_bytes)),
          .marks = static_cast<const unsigned char*>(workspace_at(workspace, marks_offset_bytes)),
          .octet_count = static_cast<unsigned>(octets),
          .rows = rows};
}

PreparedRowPair prepared_rows(const SddmmQuery& query, const SampleWork& work, const TileShape& shape) {
  static constexpr const char* what = "the bytes of the prepared operands";
  PreparedRowPair pair;
  const auto place = [&](PreparedRows& rows, std::int64_t count, std::int64_t tile) {
    const std::int64_t batch = query.problem.batch;
    rows.octets = round_up(count, tile) / sample_octet_rows();
    rows.octets_offset_bytes = pair.bytes;
    pair.bytes += round_up(checked_multiply(checked_multiply(batch * rows.octets, blocks_of(query.problem.n), what),
                                            sample_octet_bytes(work.mode), what),
                           alignment_bytes);
    rows.exponents_offset_bytes = pair.bytes;
    const std::int64_t lines = batch * work.n_split;
    const std::int64_t bytes_of_rows = round_up(lines * rows.octets * sample_octet_rows(), alignment_bytes);
    if (sample_scales_rows(work.mode, query.problem.element)) pair.bytes += bytes_of_rows;
    rows.marks_offset_bytes = pair.bytes;
    if (marks_rows(sampled::traits(query), work)) pair.bytes += bytes_of_rows;
  };
  place(pair.lhs, query.statistics.rows, shape.rows);
  place(pair.rhs, query.statistics.cols, shape.columns);
  return pair;
}

Launch sample_operands_launch(const SddmmQuery& query, const SampleWork& work, const PreparedRowPair& prepared) {
  const SampleOperandsTraits t = traits(query, work);
  const SampleOperandsConfig config = config_for(query, work);
  codegen::KernelRequest request = {.family = "sample_operands",
                                    .header = "sddmm/sample_operands.h",
                                    .expression = codegen::name_expression("sample_operands", "SampleOperandsTraits", t,
                                                                           "SampleOperandsConfig", config)};
  const int kept = kept_chunks(query, work, config);
  const device::LaunchShape shape = {
      .grid = {}, .block = {static_cast<unsigned>(config.threads)}, .shared_bytes = shared_bytes(t, config, kept)};
  const StoredMatrix lhs = query.lhs(), rhs = query.rhs();
  const Binding binding = {.prepared = prepared,
                           .lhs_rows = query.statistics.rows,
                           .rhs_rows = query.statistics.cols,
                           .lhs_leading = lhs.leading,
                           .rhs_leading = rhs.leading,
                           .lhs_stride = lhs.stride,
                           .rhs_stride = rhs.stride,
                           .n = query.problem.n,
                           .parts = work.n_split,
                           .part_blocks = sampled::part_blocks(query, work.n_split),
                           .batch = query.problem.batch,
                           .kept_chunks = kept};
  Launch launch = Launch::of<SddmmArguments, SampleOperandsArgs>(std::move(request), shape, binding);
  // Behind the sum of parts of the call before, blocks that leave it no shared memory cost more than they gain
  // (bench/notes/sddmm.md#cost-of-preparing-operands).
  if (work.n_split > 1) return launch.start_after_previous();
  return launch.spread(query.device, (prepared.lhs.octets + prepared.rhs.octets) * query.problem.batch);
}

}  // namespace vostok::ops
