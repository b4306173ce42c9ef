#include "ops/topology/mask.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ops/topology/primitives.hpp"

namespace vostok::ops {

namespace {

constexpr const char* mask_header = "topology/mask.h";
constexpr int highest_digit_shift = 24;
__extension__ using Wide = unsigned __int128;

Step<SelectTraits> select_step(const char* kernel, const SelectTraits& traits) {
  return {"topology/select.h", kernel, "SelectTraits", traits, select_shared_bytes()};
}

Step<MaskTraits> mask_step(const char* kernel, const MaskTraits& traits) {
  return {mask_header, kernel, "MaskTraits", traits};
}

/// One warp for each row.
std::int64_t blocks_for_rows(const Queue& queue, std::int64_t rows) { return queue.blocks_for(rows * 32); }

/// Number of elements at each distance beyond the band.
std::vector<std::uint64_t> elements_by_distance(const AttentionBand& band) {
  std::vector<std::uint64_t> elements(static_cast<std::size_t>(std::max({band.rows, band.cols, std::int64_t{1}})), 0);
  for (std::int64_t d = 1; d < static_cast<std::int64_t>(elements.size()); ++d) {
    std::int64_t count = 0;
    if (d > band.before) count += std::max<std::int64_t>(0, std::min(band.rows - d, band.cols));
    if (d > band.after && !band.causal) count += std::max<std::int64_t>(0, std::min(band.rows, band.cols - d));
    elements[static_cast<std::size_t>(d)] = static_cast<std::uint64_t>(count);
  }
  return elements;
}

std::uint32_t probability_at(std::uint64_t scale, std::size_t distance) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(scale / std::max<std::size_t>(distance, 1), 0xffffffffU));
}

}  // namespace

void select_uniform(const Queue& queue, std::uint64_t seed, std::int64_t rows, std::int64_t cols, std::int64_t total,
                    SelectionRule* rules) {
  if (rows == 0) return;
  const SelectArgs args{.seed = seed,
                        .rows = rows,
                        .cols = cols,
                        .base_count = total / rows,
                        .extra_count = total % rows,
                        .rules = rules};
  queue.launch(select_step("select_rows", {.kind = MaskKind::uniform}), rows, args);
}

void select_largest_of_rows(const Queue& queue, const DenseOperand& dense, std::int64_t kept, SelectionRule* rules) {
  const SelectArgs args{.dense = dense.data,
                        .leading = dense.leading,
                        .rows = dense.rows,
                        .cols = dense.cols,
                        .base_count = kept,
                        .extra_count = 0,
                        .rules = rules};
  queue.launch(select_step("select_rows", {.kind = MaskKind::largest, .element = dense.element}), dense.rows, args);
}

void select_largest(const Queue& queue, const DenseOperand& dense, std::int64_t kept, SelectionRule* rule) {
  using Memory = QueuedMemory;
  constexpr std::int64_t digits = 256;
  Memory scratch(queue, Memory::bytes_of<unsigned long long>(digits) + Memory::bytes_of<SelectState>(1));
  SelectArgs args{.dense = dense.data,
                  .leading = dense.leading,
                  .rows = dense.rows,
                  .cols = dense.cols,
                  .base_count = kept,
                  .rules = rule,
                  .state = nullptr,
                  .digit_counts = scratch.take<unsigned long long>(digits)};
  args.state = scratch.take<SelectState>(1);
  queue.fill_zero(args.digit_counts, digits * std::int64_t{sizeof(unsigned long long)});
  const SelectTraits traits{.kind = MaskKind::largest, .element = dense.element};
  for (args.shift = highest_digit_shift; args.shift >= 0; args.shift -= 8) {
    queue.launch(select_step("select_count", traits),
                 std::min(dense.rows, queue.blocks_for(dense.rows * StepConfig{}.threads)), args);
    queue.launch(select_step("select_pick", traits), 1, args);
  }
}

SelectionRule rule_above(float threshold) {
  if (threshold < 0) return {.lower = 0, .ties = 0};
  return {.lower = std::bit_cast<std::uint32_t>(std::fabs(threshold)) + 1ULL, .ties = 0};
}

void count_mask(const Queue& queue, const MaskTraits& traits, MaskArgs args, std::int64_t* tie_offsets,
                std::int64_t* row_offsets) {
  using Memory = QueuedMemory;
  const bool competing = tie_offsets != nullptr;
  Memory scratch(queue, (competing ? 2 : 1) * Memory::bytes_of<std::uint32_t>(args.rows));
  args.kept = scratch.take<std::uint32_t>(args.rows);
  if (competing) args.ties = scratch.take<std::uint32_t>(args.rows);
  queue.launch(mask_step("mask_count", traits), blocks_for_rows(queue, args.rows), args);
  if (competing) {
    exclusive_scan(queue, args.ties, args.rows, tie_offsets, true);
    args.tie_offsets = reinterpret_cast<const long long*>(tie_offsets);
    queue.launch(mask_step("mask_add_ties", traits), queue.blocks_for(args.rows), args);
  }
  exclusive_scan(queue, args.kept, args.rows, row_offsets, true);
}

void fill_mask(const Queue& queue, const MaskTraits& traits, MaskArgs args, const std::int64_t* tie_offsets,
               const std::int64_t* row_offsets, std::int32_t* columns, void* values) {
  args.tie_offsets = reinterpret_cast<const long long*>(tie_offsets);
  args.row_offsets = reinterpret_cast<const long long*>(row_offsets);
  args.columns = columns;
  args.values = values;
  queue.launch(mask_step("mask_fill", traits), blocks_for_rows(queue, args.rows), args);
}

std::vector<std::uint32_t> falling_probabilities(const AttentionBand& band) {
  const std::vector<std::uint64_t> elements = elements_by_distance(band);
  const auto expected = [&](std::uint64_t scale) {
    Wide sum = 0;
    for (std::size_t d = 0; d < elements.size(); ++d) sum += static_cast<Wide>(elements[d]) * probability_at(scale, d);
    return sum;
  };
  Wide all = 0;
  for (const std::uint64_t count : elements) all += count;
  const Wide wanted = all * static_cast<std::uint64_t>(std::ldexp(band.density, 32));

  std::uint64_t low = 0, high = std::uint64_t{elements.size()} << 32;  // here every probability is 1
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (expected(middle) < wanted) low = middle + 1;
    else high = middle;
  }
  std::vector<std::uint32_t> probabilities(elements.size());
  for (std::size_t d = 0; d < probabilities.size(); ++d) probabilities[d] = probability_at(low, d);
  return probabilities;
}

}  // namespace vostok::ops
