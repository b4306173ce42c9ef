// Fields listed once. Beside each Traits/Config/problem struct stands one function
//   template <class S, class Visit> constexpr void fields(S& s, Visit&& visit) { visit("tile_rows", s.tile_rows); ... }
// and everything that has to know the fields - name expressions, cache text, keys, log lines, parsing - goes
// through it. `lists_every_field` fails to compile when a field was forgotten.
#pragma once

#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>

#include <vostok/plan.hpp>

namespace vostok::codegen {

namespace detail {
struct Any {
  template <class T>
  // NOLINTNEXTLINE(google-explicit-constructor): stands for any initialiser
  constexpr operator T() const {
    return T{};
  }
};
template <class T, class... A>
constexpr int arity() {
  if constexpr (requires { T{A{}..., Any{}}; }) return arity<T, A..., Any>();
  else return sizeof...(A);
}
struct Counter {
  int count = 0;
  template <class V>
  constexpr void operator()(const char*, const V&) {
    ++count;
  }
};
}  // namespace detail

/// Number of members of aggregate T.
template <class T>
constexpr int field_count() {
  return detail::arity<T>();
}

/// static_assert(lists_every_field<RowTileConfig>());
template <class T>
constexpr bool lists_every_field() {
  T value{};
  detail::Counter counter;
  fields(value, counter);
  return counter.count == field_count<T>();
}

/// "true", "8", "f16".
template <class V>
std::string value_text(const V& value) {
  if constexpr (std::is_same_v<V, bool>) return value ? "true" : "false";
  else if constexpr (std::is_enum_v<V>) return name(value);
  else return std::to_string(value);
}

/// The value spelt by `text`, or nothing.
template <class V>
std::optional<V> parse_value(const std::string& text) {
  if constexpr (std::is_same_v<V, bool>) {
    if (text == "true") return true;
    if (text == "false") return false;
    return std::nullopt;
  } else if constexpr (std::is_enum_v<V>) {
    // NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): the first value without a name ends the loop
    for (int i = 0; name(static_cast<V>(i)) != nullptr; ++i)
      if (text == name(static_cast<V>(i))) return static_cast<V>(i);
    return std::nullopt;
  } else {
    long long value = 0;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end || static_cast<long long>(static_cast<V>(value)) != value)
      return std::nullopt;
    return static_cast<V>(value);
  }
}

/// Every field as text.
template <class T>
FieldMap to_map(const T& value) {
  FieldMap map;
  fields(value, [&](const char* field, const auto& v) { map[field] = value_text(v); });
  return map;
}

/// The struct that `map` spells. Fields that `map` lacks keep their default; unknown fields are ignored and
/// counted in `unknown`; a value that does not parse gives nothing.
template <class T>
std::optional<T> from_map(const FieldMap& map, int* unknown = nullptr) {
  T value{};
  bool good = true;
  std::size_t known = 0;
  std::string name;  // one for all look-ups: plans read configs often
  fields(value, [&](const char* field, auto& v) {
    auto position = map.find(name = field);
    if (position == map.end()) return;
    ++known;
    auto parsed = parse_value<std::remove_reference_t<decltype(v)>>(position->second);
    if (parsed) v = *parsed;
    else good = false;
  });
  if (unknown != nullptr) *unknown = static_cast<int>(map.size() - known);
  if (!good) return std::nullopt;
  return value;
}

}  // namespace vostok::codegen
