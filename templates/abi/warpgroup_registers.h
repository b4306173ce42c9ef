// Registers of blocks whose warpgroups exchange them (parts/register_pool.h): those that copy give most of theirs to
// those that multiply.
#pragma once

namespace vostok {

/// Registers of every multiprocessor since sm_75.
consteval int multiprocessor_registers() { return 64 * 1024; }

/// Registers of a thread that min_blocks leaves.
constexpr int registers_each(int threads, int min_blocks) {
  const int registers = multiprocessor_registers() / (threads * min_blocks) / 8 * 8;
  return registers < 255 ? registers : 255;
}

/// As a kernel is launched whose warpgroups may exchange them: they are given out to four warps at a time.
constexpr int launched_registers(int threads, int min_blocks) {
  return registers_each((threads + 127) / 128 * 128, min_blocks);
}

/// What each of `warpgroups` has once `givers` more keep only `kept` of their own, and others give up `more`.
constexpr int shared_out_registers(int launched, int warpgroups, int kept, int givers = 1, int more = 0) {
  const int registers = (launched * (warpgroups + givers) - kept * givers + more) / warpgroups / 8 * 8;
  return registers < 240 ? registers : 240;
}

}  // namespace vostok
