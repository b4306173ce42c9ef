// The packed format that all choices of a plan read: values are packed once, whatever n a call has.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "plan/decision.hpp"
#include "plan/planner.hpp"

namespace vostok::plan {

/// Of the formats that the tasks' own decisions read, and CSR, the one with the least product of slow-downs over all
/// tasks, each against its own choice by the cost models. Ties go to the format of the later task. `wanted`: a
/// PackedValues::format to take instead, or empty. Errors: invalid_argument, unsupported (wanted does not serve every
/// task).
std::string shared_format(std::span<const Task> tasks, std::span<const std::shared_ptr<const Decision>> own,
                          const std::string& wanted, std::int64_t max_workspace_bytes);

/// The task's query restricted to configs that read this format. Errors: internal (values are passed at every call).
std::shared_ptr<const ops::Query> restricted(const Task& task, const std::string& format);

}  // namespace vostok::plan
