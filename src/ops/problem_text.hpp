// A problem's fields as text and back, for captures and `--set`.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ops/problem_fields.hpp"

namespace vostok::ops {

namespace detail {

/// visit(name, value) for each leaf field, in nested structures too: "n", "epilogue.bias", "padding.top".
template <class P, class Visit>
void visit_leaves(P& problem, const Visit& visit) {
  problem_fields(problem, [&](const char* field, auto& value, KeyRole) {
    if constexpr (requires { fields(value, [](const char*, const auto&) {}); })
      fields(value, [&](const char* inner, auto& v) { visit(fmt::format("{}.{}", field, inner), v); });
    else visit(std::string(field), value);
  });
}

constexpr std::string_view absent = "default";  // an optional field without a value

template <class V>
std::string text_of(const V& value) {
  if constexpr (std::is_same_v<V, std::vector<std::int64_t>>) {
    std::string text;
    for (const std::int64_t item : value) text += fmt::format("{}{}", text.empty() ? "" : ",", item);
    return text;
  } else if constexpr (requires { value.value(); }) {
    return value ? codegen::value_text(*value) : std::string(absent);
  } else {
    return codegen::value_text(value);
  }
}

/// "1,8,64"
inline bool take_list(std::vector<std::int64_t>& items, const std::string& text) {
  items.clear();
  for (std::size_t start = 0; start <= text.size() && !text.empty();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const auto item = codegen::parse_value<std::int64_t>(text.substr(start, comma - start));
    if (!item) return false;
    items.push_back(*item);
    start = comma + 1;
  }
  return true;
}

/// False if the text is not a value of the field's type.
template <class V>
bool take_text(V& value, const std::string& text) {
  if constexpr (std::is_same_v<V, std::vector<std::int64_t>>) {
    return take_list(value, text);
  } else if constexpr (requires { value.value(); }) {
    if (text == absent) {
      value.reset();
      return true;
    }
    typename V::value_type held{};
    if (!take_text(held, text)) return false;
    value = held;
    return true;
  } else {
    const std::optional<V> parsed = codegen::parse_value<V>(text);
    if (parsed) value = *parsed;
    return parsed.has_value();
  }
}

}  // namespace detail

/// Every field: {"n": "64", "output": "default", "epilogue.bias": "none", "n_values": "1,8,64", ...}.
template <class P>
FieldMap fields_as_text(const P& problem) {
  FieldMap map;
  detail::visit_leaves(problem,
                       [&](const std::string& field, const auto& value) { map[field] = detail::text_of(value); });
  return map;
}

/// Sets a field from "field=value". Errors: invalid_argument naming what is unknown or does not fit.
template <class P>
void set_field(P& problem, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string wanted = assignment.substr(0, equals);
  const std::string text = equals == std::string::npos ? std::string() : assignment.substr(equals + 1);
  std::string known;
  bool found = false;
  bool taken = false;
  detail::visit_leaves(problem, [&](const std::string& field, auto& value) {
    known += (known.empty() ? "" : ", ") + field;
    if (field != wanted) return;
    found = true;
    taken = detail::take_text(value, text);
  });
  if (!found) fail(ErrorCode::invalid_argument, "cannot set '{}': the problem's fields are {}", assignment, known);
  if (!taken) fail(ErrorCode::invalid_argument, "cannot set '{}': '{}' is no value of that field", assignment, text);
}

}  // namespace vostok::ops
