// The position at which each row enters each panel of columns (abi/panels.h), in device memory, made from CSR:
// sparse::panel_starts. Everything is queued; nothing waits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <vostok/topology.hpp>

#include <abi/panels.h>

#include "ops/topology/csr.hpp"

namespace vostok::ops {

/// Why a structure cannot be cut into such panels; nothing if it can.
std::optional<std::string> panels_declined(const TopologyStatistics& statistics, int panel_rows);

/// `csr`: 32-bit offsets, rows sorted. `starts` has room for panel_start_count().
void find_panel_starts(const Queue& queue, const CsrArrays& csr, int panel_rows, std::int32_t* starts);

}  // namespace vostok::ops
