// Where rows enter each panel of columns (abi/panels.h), on the host: what devices' are compared with.
#pragma once

#include <cstdint>
#include <vector>

#include <abi/panels.h>

#include "sparse/csr.hpp"

namespace vostok::sparse {

/// `csr` is valid, its rows are sorted, `panel_rows` is positive. Errors: unsupported (2^31 nonzeros and more).
std::vector<std::int32_t> panel_starts(const Csr& csr, int panel_rows);

}  // namespace vostok::sparse
