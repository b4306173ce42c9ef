// Checks of the values of options. Problems have such checks of their own (ops/<operation>/problem.cpp).
#pragma once

#include <string>

#include <vostok/context.hpp>

namespace vostok::plan {

/// Throws invalid_argument for an unknown enumerator, a negative number or an invalid time, naming the field and its
/// value.
void validate(const Options& options);
void validate(const PlanOptions& options);
/// `what` cannot be done: "load packed values".
void validate(const LoadOptions& options, const std::string& what);

}  // namespace vostok::plan
