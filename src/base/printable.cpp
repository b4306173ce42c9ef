#include "base/printable.hpp"

#include <cstddef>
#include <cstdint>

namespace vostok {

namespace {

constexpr std::string_view hex = "0123456789abcdef";

/// A character of UTF-8. `bytes` is 0 where the text does not begin with one.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;
};

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80U) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0U ? 4 : lead >= 0xe0U ? 3 : 2;
  if (lead < 0xc2U || lead > 0xf4U || text.size() < bytes) return {};
  std::uint32_t code = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return {};
    code = code << 6U | (byte(i) & 0x3fU);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800U && code <= 0xdfffU;
  if (code < least[bytes] || code > 0x10ffffU || is_surrogate) return {};
  return {code, bytes};
}

bool is_within(std::uint32_t code, std::uint32_t first, std::uint32_t last) { return code >= first && code <= last; }

bool is_shown(std::uint32_t code) {
  const bool is_control = code < 0x20U || is_within(code, 0x7f, 0x9f);
  const bool takes_no_room = code == 0xadU || code == 0x61cU || is_within(code, 0x200b, 0x200f) ||
                             is_within(code, 0x2028, 0x202e) || is_within(code, 0x2060, 0x206f) || code == 0xfeffU ||
                             is_within(code, 0xfff9, 0xfffb) || is_within(code, 0xe0000, 0xe007f);
  return !is_control && !takes_no_room;
}

void append_escaped_byte(std::string& text, unsigned char byte) {
  if (byte == '\n') text += "\\n";
  else if (byte == '\t') text += "\\t";
  else (((text += "\\x") += hex[byte >> 4U]) += hex[byte & 15U]);
}

std::string escaped(std::string_view text, bool keep_line_ends) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::size_t bytes = character.bytes == 0 ? 1 : character.bytes;
    const bool stays = (character.bytes != 0 && is_shown(character.code)) || (keep_line_ends && text.front() == '\n');
    if (stays) plain += text.substr(0, bytes);
    else
      for (const char byte : text.substr(0, bytes)) append_escaped_byte(plain, static_cast<unsigned char>(byte));
    text.remove_prefix(bytes);
  }
  return plain;
}

}  // namespace

std::string printable(std::string_view text) { return escaped(text, false); }

std::string printable_lines(std::string_view text) { return escaped(text, true); }

}  // namespace vostok
