// The header's constants beside the enumerators that they are: one list, checked name by name when it is compiled.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <vostok/context.hpp>
#include <vostok/tools.hpp>

namespace vostok::c {

struct Constant {
  std::string_view enumeration;  ///< "index_type"
  const char* name;              ///< "u16"
  std::int32_t value;
};

std::span<const Constant> constants();

/// The enumerator's name; null where there is none.
const char* constant_name(std::string_view enumeration, std::int32_t value);

/// "f32, f16, bf16": for messages.
std::string constant_names(std::string_view enumeration);

// What C calls an enumeration.
constexpr std::string_view enumeration(Dtype) { return "dtype"; }
constexpr std::string_view enumeration(IndexType) { return "index_type"; }
constexpr std::string_view enumeration(Layout) { return "layout"; }
constexpr std::string_view enumeration(Bias) { return "bias"; }
constexpr std::string_view enumeration(Activation) { return "activation"; }
constexpr std::string_view enumeration(Scale) { return "scale"; }
constexpr std::string_view enumeration(Math) { return "math"; }
constexpr std::string_view enumeration(NonFinite) { return "non_finite"; }
constexpr std::string_view enumeration(ValueLifetime) { return "value_lifetime"; }
constexpr std::string_view enumeration(RowStatistics) { return "row_statistics"; }
constexpr std::string_view enumeration(Saved) { return "saved"; }
constexpr std::string_view enumeration(Effort) { return "effort"; }
constexpr std::string_view enumeration(Policy) { return "policy"; }
constexpr std::string_view enumeration(Provenance) { return "provenance"; }
constexpr std::string_view enumeration(Detail) { return "detail"; }
constexpr std::string_view enumeration(LogLevel) { return "log_level"; }
constexpr std::string_view enumeration(FirstRun) { return "first_run"; }
constexpr std::string_view enumeration(CompilePolicy) { return "compile_policy"; }
constexpr std::string_view enumeration(Per) { return "per"; }
constexpr std::string_view enumeration(Keep) { return "keep"; }

inline constexpr std::string_view operation_enumeration = "operation";

}  // namespace vostok::c
