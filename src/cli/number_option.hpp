// Options whose values are numbers: decimal, whatever the locale, within limits that the refusal names.
#pragma once

#include <CLI/CLI.hpp>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/number_text.hpp"
#include "base/text.hpp"

namespace vostok::cli {

/// What an option takes. `unit` is what the number counts, in the plural: "bytes"; empty: it is a mere number.
template <class Number>
struct Limits {
  Number least = std::numeric_limits<Number>::lowest();
  Number most = std::numeric_limits<Number>::max();
  std::string unit = {};

  std::string with_unit(const std::string& words) const { return unit.empty() ? words : words + " " + unit; }
};

/// No memory holds more elements than this, so that sums of sizes cannot overflow: 2^47 - 1.
inline constexpr std::int64_t most_elements = (std::int64_t{1} << 47) - 1;

/// A size, a distance between lines or a count of a batch.
inline Limits<std::int64_t> size_limits() { return {.least = 0, .most = most_elements}; }

/// A time to wait or to spend: up to thirty years.
inline Limits<double> second_limits() { return {.least = 0, .most = 1e9, .unit = "seconds"}; }

/// Whether the text has the form of a whole number, however large.
inline bool is_whole(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// The number that the text spells. CLI::ValidationError naming the option, its unit and its limits for anything else: a
/// blank, another base, a point in a whole number, NaN.
template <class Number>
Number number_value(const std::string& option, const std::string& text, const Limits<Number>& limits) {
  const auto refuse = [&](const std::string& why) { throw CLI::ValidationError(option, limits.with_unit(why)); };
  const std::optional<Number> value = parse_number<Number>(text);
  const bool is_number = std::integral<Number> ? is_whole(text) : value && std::isfinite(static_cast<double>(*value));
  if (!is_number)
    refuse(fmt::format("'{}' is not a {} number{}", text, std::integral<Number> ? "whole" : "finite", limits.unit.empty() ? "" : " of"));
  const bool is_too_small = value ? *value < limits.least : text.starts_with('-');
  if (is_too_small) refuse(fmt::format("{} is less than {}", text, limits.least));
  if (!value || *value > limits.most) refuse(fmt::format("{} is more than {}", text, limits.most));
  return *value;  // NOLINT(bugprone-unchecked-optional-access): refused where there is none
}

/// Adds an option with such a value; `Held` is the number, or an optional of it.
template <class Held, class Number>
CLI::Option* add_number_option(CLI::App& app, const std::string& option, Held& value, const Limits<Number>& limits, const std::string& description) {
  const auto take = [&value, limits, option](const std::string& text) { value = number_value<Number>(option, text, limits); };
  return app.add_option_function<std::string>(option, take, description)->type_name("N")->run_callback_for_default(false);
}

/// The same, whose help shows what the value is where it is not given.
template <class Number>
CLI::Option* add_default_number_option(CLI::App& app, const std::string& option, Number& value, const Limits<Number>& limits,
                                       const std::string& description) {
  return add_number_option(app, option, value, limits, description)->default_str(fmt::format("{}", value));
}

}  // namespace vostok::cli
