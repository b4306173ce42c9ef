// From typed structs to the name expression of a kernel: the only place that writes template arguments.
#pragma once

#include <string>
#include <string_view>

#include "codegen/fields.hpp"

namespace vostok::codegen {

namespace detail {
template <class V>
std::string literal(const V& value) {
  if constexpr (std::is_enum_v<V>) return "vostok::" + std::string(type_name(value)) + "::" + name(value);
  else return value_text(value);
}
}  // namespace detail

/// "vostok::RowTileConfig{.tile_rows = 8, .dense_vector = 4}" with every field written out.
template <class T>
std::string braced(std::string_view type, const T& value) {
  std::string text = "vostok::" + std::string(type) + "{";
  const char* separator = "";
  fields(value, [&](const char* field, const auto& v) {
    text += separator;
    text += '.';
    text += field;
    text += " = ";
    text += detail::literal(v);
    separator = ", ";
  });
  return text + "}";
}

/// "vostok::row_tile<vostok::Fixed<vostok::RowTileTraits{...}, vostok::RowTileConfig{...}>>".
template <class Traits, class Config>
std::string name_expression(std::string_view kernel, std::string_view traits_type, const Traits& traits, std::string_view config_type,
                            const Config& config) {
  return "vostok::" + std::string(kernel) + "<vostok::Fixed<" + braced(traits_type, traits) + ", " + braced(config_type, config) + ">>";
}

}  // namespace vostok::codegen
