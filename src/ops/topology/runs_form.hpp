// The structure of packed runs in device memory, made from CSR: sparse::packed_runs, bit for bit. Everything is queued;
// nothing waits.
#pragma once

#include <cstdint>

#include "ops/topology/csr.hpp"

namespace vostok::ops {

/// A matrix as kernels walk it that packed_runs_declined (ops/topology/packed_runs.hpp) admits.
struct RunSource {
  CsrArrays csr = {};
  int gap_bits = 4;
};

/// The results of counting that placing needs.
struct RunSlots {
  QueuedMemory memory;
  std::uint32_t* slots = nullptr;         ///< of each nonzero: the escapes before it, plus one for itself
  std::uint32_t* slots_before = nullptr;  ///< prefix sums of `slots`
};

/// row_runs[r], for r in [0, rows]: the number of row r's first run.
RunSlots count_runs(const Queue& queue, const RunSource& source, std::uint32_t* row_runs);

/// Output arrays whose sizes are known once the runs are counted; they hold whole groups.
struct RunParts {
  const std::uint32_t* row_runs = nullptr;
  std::uint16_t* starts = nullptr;
  std::uint8_t* counts = nullptr;
  std::uint32_t* codes = nullptr;
  std::int32_t* firsts = nullptr;
};

void place_runs(const Queue& queue, const RunSource& source, const RunSlots& slots, const RunParts& parts,
                std::int64_t groups);

}  // namespace vostok::ops
