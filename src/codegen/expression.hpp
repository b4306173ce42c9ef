// From typed structs to the name expression of a kernel: the only place that writes template arguments.
#pragma once

#include <string>
#include <string_view>

#include "codegen/fields.hpp"

namespace vostok::codegen {

namespace detail {
template <class V>
void append_literal(std::string& text, const V& value) {
  if constexpr (std::is_enum_v<V>) text.append("vostok::").append(type_name(value)).append("::").append(name(value));
  else text += value_text(value);
}

template <class T>
void append_braced(std::string& text, std::string_view type, const T& value) {
  text.append("vostok::").append(type) += '{';
  const char* separator = ".";
  fields(value, [&](const char* field, const auto& v) {
    text.append(separator).append(field).append(" = ");
    append_literal(text, v);
    separator = ", .";
  });
  text += '}';
}
}  // namespace detail

/// "vostok::RowTileConfig{.tile_rows = 8, .dense_vector = 4}" with every field written out.
template <class T>
std::string braced(std::string_view type, const T& value) {
  std::string text;
  detail::append_braced(text, type, value);
  return text;
}

/// "vostok::row_tile<vostok::Fixed<vostok::RowTileTraits{...}, vostok::RowTileConfig{...}>>".
template <class Traits, class Config>
std::string name_expression(std::string_view kernel, std::string_view traits_type, const Traits& traits,
                            std::string_view config_type, const Config& config) {
  constexpr std::size_t usual_length = 1200;
  std::string text;
  text.reserve(usual_length);
  text.append("vostok::").append(kernel).append("<vostok::Fixed<");
  detail::append_braced(text, traits_type, traits);
  text += ", ";
  detail::append_braced(text, config_type, config);
  return text += ">>";
}

}  // namespace vostok::codegen
