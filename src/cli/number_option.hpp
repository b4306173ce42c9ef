// Options with numeric values: decimal in every locale, within limits that error messages name.
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

/// The limits of an option. `unit` is what the number counts, in the plural: "bytes"; empty: no unit.
template <class Number>
struct Limits {
  Number least = std::numeric_limits<Number>::lowest();
  Number most = std::numeric_limits<Number>::max();
  std::string unit = {};

  std::string with_unit(const std::string& words) const { return unit.empty() ? words : words + " " + unit; }
};

/// Upper bound on the elements in any memory, so that sums of sizes cannot overflow: 2^47 - 1.
inline constexpr std::int64_t most_elements = (std::int64_t{1} << 47) - 1;

/// Limits of a size, a leading dimension or stride, or a batch.
inline Limits<std::int64_t> size_limits() { return {.least = 0, .most = most_elements}; }

/// Limits of a waiting time or a budget: up to thirty years.
inline Limits<double> second_limits() { return {.least = 0, .most = 1e9, .unit = "seconds"}; }

/// Whether the text has the form of a whole number of any size.
inline bool is_whole(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// The number in the text. CLI::ValidationError naming the option, its unit and its limits for anything else: a blank,
/// another base, a point in a whole number, NaN.
template <class Number>
Number number_value(const std::string& option, const std::string& text, const Limits<Number>& limits) {
  const auto refuse = [&](const std::string& why) { throw CLI::ValidationError(option, limits.with_unit(why)); };
  const std::optional<Number> value = parse_number<Number>(text);
  const bool is_number = std::integral<Number> ? is_whole(text) : value && std::isfinite(static_cast<double>(*value));
  if (!is_number)
    refuse(fmt::format("'{}' is not a {} number{}", text, std::integral<Number> ? "whole" : "finite",
                       limits.unit.empty() ? "" : " of"));
  const bool is_too_small = value ? *value < limits.least : text.starts_with('-');
  if (is_too_small) refuse(fmt::format("{} is less than {}", text, limits.least));
  if (!value || *value > limits.most) refuse(fmt::format("{} is more than {}", text, limits.most));
  return *value;  // NOLINT(bugprone-unchecked-optional-access): refused where there is none
}

/// Adds an option with such a value; `Held` is the number type, or an optional of it.
template <class Held, class Number>
CLI::Option* add_number_option(CLI::App& app, const std::string& option, Held& value, const Limits<Number>& limits,
                               const std::string& description) {
  const auto take = [&value, limits, option](const std::string& text) {
    value = number_value<Number>(option, text, limits);
  };
  return app.add_option_function<std::string>(option, take, description)
      ->type_name("N")
      ->run_callback_for_default(false);
}

/// As above; the help shows the default value.
template <class Number>
CLI::Option* add_default_number_option(CLI::App& app, const std::string& option, Number& value,
                                       const Limits<Number>& limits, const std::string& description) {
  return add_number_option(app, option, value, limits, description)->default_str(fmt::format("{}", value));
}

}  // namespace vostok::cli
