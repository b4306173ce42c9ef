#include "plan/masks.hpp"

#include <abi/random_keys.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/checked.hpp"
#include "plan/tool_checks.hpp"
#include "plan/tools.hpp"

namespace vostok::plan {

namespace {

constexpr const char* what = "make mask";

void require_share(const char* field, double value) {
  const bool is_share = value >= 0 && value <= 1;  // false for NaN
  if (!is_share) fail(ErrorCode::invalid_argument, "cannot {}: {} = {} is not in [0, 1]", what, field, value);
}

void require_least(const char* field, std::int64_t value, std::int64_t least) {
  if (value < least) fail(ErrorCode::invalid_argument, "cannot {}: {} = {} is less than {}", what, field, value, least);
}

/// round(places * (1 - sparsity)), as sparse::uniform has it.
std::int64_t kept_places(std::int64_t places, double sparsity) {
  return std::llround(static_cast<double>(places) * (1 - sparsity));
}

/// Runs the checks that come before anything is queued.
ops::Queue begin(Session& session, std::int64_t rows, std::int64_t cols, Stream stream) {
  session.require_no_capture(stream, what);
  require_shape(what, rows, cols);
  return queue_behind(session, stream);
}

/// The columns of a row's band, as distances from the diagonal.
struct Band {
  std::int64_t before;
  std::int64_t after;
};

Band band_of(std::int64_t width, bool causal) {
  const std::int64_t before = causal ? width - 1 : width / 2;
  return {.before = before, .after = width - 1 - before};
}

void require_attention(const AttentionMask& mask) {
  require_share("sparsity", mask.sparsity);
  require_least("width", mask.width, 1);
}

/// The probability of an element by its distance from the diagonal.
std::vector<std::uint32_t> probabilities_of(const AttentionMask& mask) {
  const auto [before, after] = band_of(mask.width, mask.causal);
  return ops::falling_probabilities({.rows = mask.rows,
                                     .cols = mask.cols,
                                     .before = before,
                                     .after = after,
                                     .causal = mask.causal,
                                     .density = 1 - mask.sparsity});
}

}  // namespace

SparseMatrix run_mask(const std::shared_ptr<Session>& session, const ops::Queue& queue, const MaskJob& job) {
  using Memory = ops::QueuedMemory;
  const std::int64_t rows = job.args.rows;
  const Memory offsets(queue, (rows + 1) * std::int64_t{sizeof(std::int64_t)});
  const Memory tie_offsets(queue, job.rules_span_rows ? offsets.bytes() : 0);
  ops::count_mask(queue, job.traits, job.args, tie_offsets.as<std::int64_t>(), offsets.as<std::int64_t>());
  std::int64_t nonzeros = job.nonzeros.value_or(0);
  if (!job.nonzeros) queue.device().copy_to_host(&nonzeros, offsets.as<std::int64_t>() + rows, sizeof(nonzeros));

  const bool has_values = job.traits.kind == MaskKind::largest;
  const Memory columns(queue, checked_multiply(nonzeros, sizeof(std::int32_t), "bytes of column indices"));
  Memory values(queue, has_values ? checked_multiply(nonzeros, size_of(job.traits.element), "bytes of values") : 0);
  if (nonzeros > 0)
    ops::fill_mask(queue, job.traits, job.args, tie_offsets.as<std::int64_t>(), offsets.as<std::int64_t>(),
                   columns.as<std::int32_t>(), values.data());
  require_results(what, queue.device());
  // The topology reads its statistics back from the same stream, so that everything queued here has run on return.
  const CsrView view{.rows = rows,
                     .cols = job.args.cols,
                     .row_offsets = offsets.as<const std::int64_t>(),
                     .column_indices = columns.as<const std::int32_t>(),
                     .nonzeros = nonzeros};
  return {.topology = Topology(std::make_shared<TopologyState>(session, view, nullptr)),
          .values = array_of(session, std::move(values))};
}

Topology make_mask(const std::shared_ptr<Session>& session, const UniformMask& mask, Stream stream) {
  require_share("sparsity", mask.sparsity);
  const ops::Queue queue = begin(*session, mask.rows, mask.cols, stream);
  const std::int64_t total = kept_places(mask.rows * mask.cols, mask.sparsity);
  const ops::QueuedMemory rules(queue, mask.rows * std::int64_t{sizeof(SelectionRule)});
  ops::select_uniform(queue, mask.seed, mask.rows, mask.cols, total, rules.as<SelectionRule>());
  return run_mask(session, queue,
                  {.traits = {.kind = MaskKind::uniform},
                   .args = {.rules = rules.as<SelectionRule>(),
                            .rows_per_rule = 1,
                            .seed = mask.seed,
                            .rows = mask.rows,
                            .cols = mask.cols},
                   .nonzeros = total})
      .topology;
}

Topology make_mask(const std::shared_ptr<Session>& session, const BlockMask& mask, Stream stream) {
  require_share("sparsity", mask.sparsity);
  require_least("block_size", mask.block_size, 1);
  const ops::Queue queue = begin(*session, mask.rows, mask.cols, stream);
  const std::int64_t block_rows = ceil_div(mask.rows, mask.block_size);
  const std::int64_t block_cols = ceil_div(mask.cols, mask.block_size);
  const ops::QueuedMemory rules(queue, block_rows * std::int64_t{sizeof(SelectionRule)});
  ops::select_uniform(queue, mask.seed, block_rows, block_cols, kept_places(block_rows * block_cols, mask.sparsity),
                      rules.as<SelectionRule>());
  return run_mask(session, queue,
                  {.traits = {.kind = MaskKind::blocks},
                   .args = {.rules = rules.as<SelectionRule>(),
                            .rows_per_rule = mask.block_size,
                            .seed = mask.seed,
                            .rows = mask.rows,
                            .cols = mask.cols}})
      .topology;
}

Topology make_mask(const std::shared_ptr<Session>& session, const BandedMask& mask, Stream stream) {
  require_least("width", mask.width, 0);
  const ops::Queue queue = begin(*session, mask.rows, mask.cols, stream);
  const auto [before, after] = band_of(mask.width, mask.causal);
  return run_mask(session, queue,
                  {.traits = {.kind = MaskKind::banded},
                   .args = {.rows_per_rule = 1,
                            .rows = mask.rows,
                            .cols = mask.cols,
                            .band_before = before,
                            .band_after = after}})
      .topology;
}

Topology make_mask(const std::shared_ptr<Session>& session, const AttentionMask& mask, Stream stream) {
  require_attention(mask);
  const ops::Queue queue = begin(*session, mask.rows, mask.cols, stream);
  const auto [before, after] = band_of(mask.width, mask.causal);
  const ops::QueuedMemory probabilities = upload(queue, probabilities_of(mask));
  return run_mask(session, queue,
                  {.traits = {.kind = MaskKind::attention},
                   .args = {.rows_per_rule = 1,
                            .probabilities = probabilities.as<std::uint32_t>(),
                            .seed = mask.seed,
                            .rows = mask.rows,
                            .cols = mask.cols,
                            .band_before = before,
                            .band_after = after,
                            .causal = mask.causal}})
      .topology;
}

sparse::Csr host_mask(const AttentionMask& mask) {
  require_attention(mask);
  require_shape(what, mask.rows, mask.cols);
  const auto [before, after] = band_of(mask.width, mask.causal);
  const std::vector<std::uint32_t> probabilities = probabilities_of(mask);
  sparse::Csr csr{.rows = mask.rows, .cols = mask.cols, .row_offsets = {0}};
  csr.row_offsets.reserve(static_cast<std::size_t>(mask.rows) + 1);
  for (std::int64_t row = 0; row < mask.rows; ++row) {
    const unsigned long long seed_of_row = row_seed(mask.seed, row);
    const std::int64_t end = mask.causal ? std::min(mask.cols, row + 1) : mask.cols;
    for (std::int64_t column = 0; column < end; ++column) {
      const bool in_band = column >= row - before && column <= row + after;
      if (in_band || draw(seed_of_row, column) < probabilities[static_cast<std::size_t>(std::abs(row - column))])
        csr.column_indices.push_back(static_cast<std::int32_t>(column));
    }
    csr.row_offsets.push_back(std::ssize(csr.column_indices));
  }
  return csr;
}

}  // namespace vostok::plan
