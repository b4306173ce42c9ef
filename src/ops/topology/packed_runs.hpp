// Packed runs (abi/packed_runs.h): the format's names, its limits, and its size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <vostok/enums.hpp>
#include <vostok/topology.hpp>

#include <abi/packed_runs.h>

namespace vostok::ops {

/// "runs32/gap4/f16": what Family::packed_format answers.
std::string runs_format(int gap_bits, Dtype element);

/// Why a matrix has no packed runs with such gaps; nothing where it has. `walked`: as kernels walk it.
std::optional<std::string> packed_runs_declined(const TopologyStatistics& walked, int gap_bits);

/// Slots that a uniformly random matrix with these statistics has on average: nonzeros, escapes, and what fills the last runs of rows.
double expected_slots(const TopologyStatistics& walked, int gap_bits);

/// Runs that no structure with these statistics exceeds.
std::int64_t most_runs(const TopologyStatistics& walked, int gap_bits);

/// Bytes of one set of values in so many groups; a multiple of 256.
constexpr std::int64_t run_value_bytes(std::int64_t groups, Dtype element) { return groups * group_runs() * run_slots() * size_of(element); }

}  // namespace vostok::ops
