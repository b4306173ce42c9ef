// A as sparse strips (abi/sparse_strips.h), for families that read them: where a call's strips lie, and the launch that packs them where
// the values change from call to call.
#pragma once

#include <cstdint>

#include "ops/spmm/packed_operand.hpp"

namespace vostok::ops {

/// Bytes of the workspace that packed values take, a multiple of 256; none where they are persistent. They are its first.
std::int64_t sparse_workspace_bytes(const SpmmQuery& query);

/// Strips of values that have 16 bits. `topology` may be empty, for shapes alone.
PackedOperand sparse_operand(const SpmmQuery& query, const TopologyPointers& topology);

/// Packs a call's values where sparse_operand finds them.
Launch pack_sparse_launch(const SpmmQuery& query, const TopologyPointers& topology);

}  // namespace vostok::ops
