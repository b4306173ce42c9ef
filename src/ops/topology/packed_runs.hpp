// Packed runs (abi/packed_runs.h): the format's names, its limits, and its size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <vostok/enums.hpp>
#include <vostok/topology.hpp>

#include <abi/packed_runs.h>

namespace vostok::ops {

/// "runs32/gap4/f16": the name that Family::packed_format returns.
std::string runs_format(int gap_bits, Dtype element);

/// Why a matrix has no packed runs with such gaps; nothing if it has. `walked`: statistics of the matrix as kernels
/// walk it.
std::optional<std::string> packed_runs_declined(const TopologyStatistics& walked, int gap_bits);

/// Average slots of a uniformly random matrix with these statistics: nonzeros, escapes, and padding of the last run of
/// each row.
double expected_slots(const TopologyStatistics& walked, int gap_bits);

/// Upper bound on the runs of a structure with these statistics.
std::int64_t most_runs(const TopologyStatistics& walked, int gap_bits);

/// Bytes of one set of values in this many groups; a multiple of 256.
constexpr std::int64_t run_value_bytes(std::int64_t groups, Dtype element) {
  return groups * group_runs() * run_slots() * size_of(element);
}

}  // namespace vostok::ops
