// The arrays of a call of attention, as checks see them.
#pragma once

#include <array>

#include <vostok/attention.hpp>
#include <vostok/topology.hpp>

#include "plan/operands.hpp"

namespace vostok::plan {

/// The operands of a forward pass, in the order of AttentionArguments.
std::array<Operand, 7> attention_operands(const SparseAttention& problem, const TopologyStatistics& mask);

/// Those of a backward pass, in the order of AttentionBackwardArguments.
std::array<Operand, 12> attention_backward_operands(const SparseAttention& problem, const TopologyStatistics& mask);

}  // namespace vostok::plan
