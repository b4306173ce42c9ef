#include "cache/versions.hpp"

#include <algorithm>
#include <cstddef>

namespace vostok::cache {

namespace {

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

/// Takes the leading run of digits, or of other bytes, off the text.
std::string_view take_part(std::string_view& text) {
  const bool digits = is_digit(text.front());
  std::size_t length = 1;
  while (length < text.size() && is_digit(text[length]) == digits) ++length;
  const std::string_view part = text.substr(0, length);
  text.remove_prefix(length);
  return part;
}

int compare_numbers(std::string_view a, std::string_view b) {
  a.remove_prefix(std::min(a.find_first_not_of('0'), a.size()));
  b.remove_prefix(std::min(b.find_first_not_of('0'), b.size()));
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

}  // namespace

bool is_newer(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const std::string_view first = take_part(a);
    const std::string_view second = take_part(b);
    const int order =
        is_digit(first.front()) && is_digit(second.front()) ? compare_numbers(first, second) : first.compare(second);
    if (order != 0) return order > 0;
  }
  return b.empty() && !a.empty();
}

}  // namespace vostok::cache
