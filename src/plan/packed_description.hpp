// What a head says about packed values, and a topology about those that it takes.
#pragma once

#include <string>

#include "plan/packed_head.hpp"
#include "plan/packed_state.hpp"

namespace vostok::plan {

/// Everything that must be alike where the values are used again.
FieldMap describe_packed(const Topology& topology, const PackedKind& kind);

/// What a description says is packed. Errors: io_failure.
PackedKind kind_of(const FieldMap& description, const std::string& name);

}  // namespace vostok::plan
