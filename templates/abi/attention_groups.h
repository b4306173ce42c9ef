// Warpgroups that multiply lines of attention by wgmma, beside one that copies: how lines lie in shared memory, and how
// registers are shared out.
#pragma once

#include "abi/warpgroup_registers.h"

namespace vostok {

/// Own lines of a warpgroup.
consteval int group_queries() { return 64; }

constexpr int group_threads(int groups) { return 128 * (groups + 1); }

/// Shared memory is cut into slabs of lines of 128 bytes: 64 elements of each line.
constexpr int slab_bytes(int lines) { return lines * 128; }
constexpr int slabs_of(int size) { return (size + 63) / 64; }
/// Elements of a line that an instruction multiplies: 64, 128 or 256.
constexpr int multiplied_width(int size) { return size <= 64 ? 64 : size <= 128 ? 128 : 256; }

constexpr bool exchanges_registers(int groups, int min_blocks) { return groups > 1 || min_blocks > 1; }
constexpr int launch_registers(int groups, int min_blocks) {
  return launched_registers(group_threads(groups), min_blocks);
}
/// Registers of a thread that multiplies, where those that copy keep `kept`.
constexpr int gained_registers(int groups, int min_blocks, int kept) {
  const int launched = launch_registers(groups, min_blocks);
  return exchanges_registers(groups, min_blocks) ? shared_out_registers(launched, groups, kept) : launched;
}

}  // namespace vostok
