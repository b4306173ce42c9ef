// A as sparse strips (abi/sparse_strips.h), for families that read them: the address of a call's strips, and the launch
// that packs them if the values change from call to call.
#pragma once

#include <cstdint>

#include "ops/spmm/packed_operand.hpp"

namespace vostok::ops {

/// Bytes of packed values at the start of the workspace, a multiple of 256; 0 if they are persistent.
std::int64_t sparse_workspace_bytes(const SpmmQuery& query);

/// The strips of 16-bit values. `topology` may be empty, to get only shapes.
PackedOperand sparse_operand(const SpmmQuery& query, const TopologyPointers& topology);

/// Packs a call's values to where sparse_operand reads them.
Launch pack_sparse_launch(const SpmmQuery& query, const TopologyPointers& topology);

}  // namespace vostok::ops
