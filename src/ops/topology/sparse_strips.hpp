// Sparse strips (abi/sparse_strips.h): the format's names, its limits, and its size in bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <vostok/topology.hpp>

#include <abi/enums.h>
#include <abi/sparse_strips.h>

namespace vostok::ops {

/// "strip16x64/2:4/f16": the name that Family::packed_format returns. `element`: a 16-bit type.
std::string sparse_format(Dtype element);
/// The type in such a name; nothing if it is not one.
std::optional<Dtype> sparse_format_element(std::string_view format);

/// Why a matrix has no sparse strips; nothing if it has. `walked`: statistics of the matrix as kernels walk it.
std::optional<std::string> sparse_strips_declined(const TopologyStatistics& walked);

/// Bytes of one set of packed values, a multiple of 256.
std::int64_t sparse_set_bytes(const SparseStructure& structure);
/// Large enough for every structure with these statistics.
std::int64_t sparse_set_bytes_bound(const TopologyStatistics& walked);

}  // namespace vostok::ops
