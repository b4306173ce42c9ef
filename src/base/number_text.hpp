// Numbers from text, whatever locale the application has set: what strtod, stod and streams read depends on it.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace vostok {

namespace detail {

/// Whether a decimal number that no double holds is too small for one, rather than too large.
inline bool is_tiny(std::string_view digits) {
  const std::size_t exponent_mark = digits.find_first_of("eE");
  const std::string_view mantissa = digits.substr(0, exponent_mark);
  const std::size_t leading = mantissa.find_first_of("123456789");
  const std::size_t point = mantissa.find('.') < mantissa.size() ? mantissa.find('.') : mantissa.size();
  if (leading == std::string_view::npos) return true;
  std::string_view exponent = exponent_mark < digits.size() ? digits.substr(exponent_mark + 1) : std::string_view("0");
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  long long power = 0;
  if (std::from_chars(exponent.data(), exponent.data() + exponent.size(), power).ec == std::errc::result_out_of_range)
    return exponent.starts_with('-');
  return power < static_cast<long long>(leading) - static_cast<long long>(point);
}

}  // namespace detail

/// The number that the whole text spells, a real also "inf" and "nan": no blanks, no leading plus, a point before the
/// decimals. Nothing where it spells none, or one that the type does not hold; a real too small for its type is 0.
template <class Number>
  requires std::integral<Number> || std::floating_point<Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (rest != text.data() + text.size() || text.empty()) return std::nullopt;
  if (error == std::errc()) return value;
  if constexpr (std::floating_point<Number>)
    if (error == std::errc::result_out_of_range && detail::is_tiny(text))
      return text.starts_with('-') ? -Number{0} : Number{0};
  return std::nullopt;
}

}  // namespace vostok
