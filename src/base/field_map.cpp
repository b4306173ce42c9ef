#include "base/field_map.hpp"

#include <algorithm>

namespace vostok {

namespace {

constexpr std::string_view hex_digits = "0123456789ABCDEF";

/// Bytes that separate fields, or that would not survive a line of text, are written %XX. Only a field's name may not hold '='.
bool needs_escape(char byte, bool in_name) {
  return static_cast<unsigned char>(byte) <= ' ' || byte == '\x7f' || byte == '%' || (in_name && byte == '=');
}

void append_escaped(std::string& text, std::string_view part, bool in_name) {
  if (std::none_of(part.begin(), part.end(), [&](char byte) { return needs_escape(byte, in_name); })) {
    text += part;
    return;
  }
  for (const char byte : part) {
    if (!needs_escape(byte, in_name)) {
      text += byte;
      continue;
    }
    const auto value = static_cast<unsigned char>(byte);
    text += '%';
    text += hex_digits[value >> 4U];
    text += hex_digits[value & 15U];
  }
}

std::optional<std::string> unescaped(std::string_view part) {
  std::string plain;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] != '%') {
      plain += part[i];
      continue;
    }
    if (i + 2 >= part.size()) return std::nullopt;
    const auto high = hex_digits.find(part[i + 1]);
    const auto low = hex_digits.find(part[i + 2]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    plain += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return plain;
}

}  // namespace

std::string to_text(const FieldMap& fields) {
  std::string text;
  for (const auto& [field, value] : fields) {
    if (!text.empty()) text += ' ';
    append_escaped(text, field, true);
    text += '=';
    append_escaped(text, value, false);
  }
  return text;
}

std::optional<FieldMap> parse_field_map(std::string_view text) {
  FieldMap fields;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(' '));
    const auto equals = item.find('=');
    if (equals == 0 || equals == std::string_view::npos) return std::nullopt;
    auto field = unescaped(item.substr(0, equals));
    auto value = unescaped(item.substr(equals + 1));
    if (!field || !value || !fields.emplace(std::move(*field), std::move(*value)).second) return std::nullopt;
    if (item.size() == text.size()) break;
    text.remove_prefix(item.size() + 1);
    if (text.empty()) return std::nullopt;
  }
  return fields;
}

}  // namespace vostok
