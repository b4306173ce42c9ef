#include "ops/topology/primitives.hpp"

#include <abi/radix_sort.h>

#include <algorithm>
#include <bit>

namespace vostok::ops {

namespace {

constexpr std::int64_t most_scan_blocks = 1024;
constexpr std::int64_t single_block_tiles = 4;  ///< one block handles this many tiles faster than a second launch would
constexpr std::int64_t most_sort_blocks = 2048;

/// The blocks, at most `most`, that take `tile` elements in each step, and the elements of each block.
struct Chunks {
  std::int64_t blocks = 1;
  std::int64_t length = 0;
};

Chunks chunks_of(std::int64_t count, std::int64_t tile, std::int64_t most) {
  const std::int64_t length = round_up(std::max<std::int64_t>(ceil_div(count, most), 1), tile);
  return {.blocks = std::max<std::int64_t>(ceil_div(count, length), 1), .length = length};
}

void sort_pass(const Queue& queue, const RadixSortTraits& traits, const RadixSortArgs& args) {
  const auto step = [&](const char* kernel, std::int64_t shared_bytes) {
    return Step<RadixSortTraits>{"topology/radix_sort.h", kernel, "RadixSortTraits", traits, shared_bytes};
  };
  queue.launch(step("sort_count", sort_count_shared_bytes()), args.blocks, args);
  queue.launch(step("sort_offsets", 0), sort_digits() / (StepConfig{}.threads / 32), args);
  queue.launch(step("sort_scatter", sort_scatter_shared_bytes()), args.blocks, args);
}

}  // namespace

int bits_for(std::int64_t largest) {
  return std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(largest))));
}

void exclusive_scan(const Queue& queue, const std::uint32_t* counts, std::int64_t count, void* offsets, bool wide) {
  const bool single = count <= single_block_tiles * scan_tile();
  const Chunks chunks = chunks_of(count, scan_tile(), single ? 1 : most_scan_blocks);
  QueuedMemory sums;
  if (!single) sums = QueuedMemory(queue, chunks.blocks * 8);
  ScanArgs args{.step = ScanStep::sum,
                .counts = counts,
                .sums = sums.data(),
                .offsets = offsets,
                .count = count,
                .chunk = chunks.length};
  const Step<ScanTraits> scan{"topology/scan.h", "scan", "ScanTraits", {.wide = wide}, block_sum_shared_bytes()};
  if (!single) queue.launch(scan, chunks.blocks, args);
  args.step = ScanStep::apply;
  queue.launch(scan, chunks.blocks, args);
}

void sort_positions(const Queue& queue, const SortKeys& keys, std::int32_t* sorted_positions) {
  if (keys.count == 0) return;
  const Chunks chunks = chunks_of(keys.count, sort_tile(), most_sort_blocks);
  const auto passes = static_cast<int>(ceil_div(keys.key_bits, sort_digit_bits()));
  using Memory = QueuedMemory;
  Memory scratch(queue, Memory::bytes_of<std::uint32_t>(sort_digits() * chunks.blocks) +
                            Memory::bytes_of<std::uint32_t>(sort_digits()) +
                            (passes > 1 ? 2 : 0) * Memory::bytes_of<std::uint32_t>(keys.count) +
                            (passes > 2 ? 1 : 0) * Memory::bytes_of<std::uint32_t>(keys.count));
  auto* const counts = scratch.take<std::uint32_t>(sort_digits() * chunks.blocks);
  auto* const totals = scratch.take<std::uint32_t>(sort_digits());
  // Passes alternate between two sets of arrays, chosen so that the last pass writes the result.
  std::int32_t* const positions[2] = {sorted_positions, passes > 1 ? scratch.take<std::int32_t>(keys.count) : nullptr};
  std::uint32_t* const sorted_keys[2] = {passes > 1 ? scratch.take<std::uint32_t>(keys.count) : nullptr,
                                         passes > 2 ? scratch.take<std::uint32_t>(keys.count) : nullptr};
  for (int pass = 0; pass < passes; ++pass) {
    const int turn = (passes - 1 - pass) % 2;
    const bool first = pass == 0;
    sort_pass(queue, {.key = first ? keys.type : IntegerType::i32, .first = first, .last = pass == passes - 1},
              {.keys = first ? keys.keys : sorted_keys[turn],
               .positions = positions[1 - turn],
               .sorted_keys = sorted_keys[1 - turn],
               .sorted_positions = positions[turn],
               .counts = counts,
               .totals = totals,
               .count = static_cast<unsigned>(keys.count),
               .chunk = static_cast<unsigned>(chunks.length),
               .blocks = static_cast<unsigned>(chunks.blocks),
               .shift = pass * sort_digit_bits()});
  }
}

}  // namespace vostok::ops
