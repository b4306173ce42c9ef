// How a head describes packed values, and what a topology requires of them.
#pragma once

#include <string>

#include "plan/packed_head.hpp"
#include "plan/packed_state.hpp"

namespace vostok::plan {

/// Everything that must match where the values are used again.
FieldMap describe_packed(const Topology& topology, const PackedKind& kind);

/// The packed kind that a description names. Errors: io_failure.
PackedKind kind_of(const FieldMap& description, const std::string& name);

}  // namespace vostok::plan
