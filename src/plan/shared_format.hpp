// The packed format that all choices of a plan read: values are packed once, whatever n a call has.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "plan/decision.hpp"
#include "plan/planner.hpp"

namespace vostok::plan {

/// Of the formats that the tasks' own decisions read, and CSR, that in which all tasks together lose least against their own, by the cost models;
/// of equal ones that of the later task. `wanted`: a PackedValues::format that is to be taken instead, or nothing. Errors: invalid_argument,
/// unsupported (wanted does not serve every task).
std::string shared_format(std::span<const Task> tasks, std::span<const std::shared_ptr<const Decision>> own, const std::string& wanted,
                          std::int64_t max_workspace_bytes);

/// The task's query for configs that read this format only. Errors: internal (values are passed at every call).
std::shared_ptr<const ops::Query> restricted(const Task& task, const std::string& format);

}  // namespace vostok::plan
