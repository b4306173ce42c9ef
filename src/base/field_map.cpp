#include "base/field_map.hpp"

#include <algorithm>

#include "base/printable.hpp"

namespace vostok {

namespace {

constexpr std::string_view hex_digits = "0123456789ABCDEF";

/// Bytes that separate fields are written %XX. Only a field's name may not hold '='.
bool separates(char byte, bool in_name) { return byte == ' ' || byte == '%' || (in_name && byte == '='); }

bool is_plain(char byte, bool in_name) { return byte >= ' ' && byte < '\x7f' && !separates(byte, in_name); }

/// How many bytes the first character has where a terminal shows it; else 0.
std::size_t shown_bytes(std::string_view text) {
  constexpr std::size_t longest = 4;
  for (std::size_t bytes = 1; bytes <= std::min(longest, text.size()); ++bytes)
    if (printable(text.substr(0, bytes)) == text.substr(0, bytes)) return bytes;
  return 0;
}

/// So are those that would not survive a line of text, or that a terminal would obey.
void append_escaped(std::string& text, std::string_view part, bool in_name) {
  if (std::all_of(part.begin(), part.end(), [&](char byte) { return is_plain(byte, in_name); })) {
    text += part;
    return;
  }
  while (!part.empty()) {
    std::size_t bytes = separates(part.front(), in_name) ? 0 : shown_bytes(part);
    text += part.substr(0, bytes);
    if (bytes == 0) {
      const auto value = static_cast<unsigned char>(part[bytes++]);
      text += '%';
      text += hex_digits[value >> 4U];
      text += hex_digits[value & 15U];
    }
    part.remove_prefix(bytes);
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
