// Plans of one operation behind handles of any.
#pragma once

#include "base/text.hpp"
#include "c/constants.hpp"
#include "c/handles.hpp"

namespace vostok::c {

/// "cannot execute spmm: plan is one of softmax".
[[noreturn]] inline void fail_operation(const char* verb, std::size_t wanted, std::size_t given) {
  const auto name_of = [](std::size_t operation) {
    return constant_name(operation_enumeration, static_cast<std::int32_t>(operation));
  };
  fail(ErrorCode::invalid_argument, "cannot {} {}: plan is one of {}", verb, name_of(wanted), name_of(given));
}

/// The plan, which is to be one of the problem's operation. Errors: invalid_argument naming both operations.
template <class Problem>
const Plan<Problem>& plan_of(const vostok_plan* plan, const char* verb) {
  const AnyOperation& any = required(plan, "plan").value;
  const auto* const wanted = std::get_if<Plan<Problem>>(&any);
  if (wanted == nullptr) [[unlikely]]
    fail_operation(verb, AnyOperation(Plan<Problem>()).index(), any.index());
  return *wanted;
}

}  // namespace vostok::c
