#include "cli/factor.hpp"

#include <charconv>
#include <cmath>

#include "base/text.hpp"

namespace vostok::cli {

float parse_number(const std::string& option, const std::string& text) {
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    throw CLI::ValidationError(option, fmt::format("'{}' is not a finite number", text));
  return value;
}

void add_factor_options(CLI::App& app, Factor& factor, const std::string& what) {
  const auto add = [&](const char* option, Scale kind, const char* from) {
    const auto take = [&factor, kind, option](const std::string& text) { factor = {.kind = kind, .value = parse_number(option, text)}; };
    return app.add_option_function<std::string>(option, take, fmt::format("Multiply {} by this, {}", what, from))->type_name("X");
  };
  CLI::Option* by_value = add("--scale", Scale::host, "passed by value");
  add("--device-scale", Scale::device, "read from device memory")->excludes(by_value);
}

std::string factor_words(const Factor& factor) {
  if (factor.kind == Scale::one) return {};
  return fmt::format(", {}scale {}", factor.kind == Scale::device ? "device_" : "", factor.value);
}

}  // namespace vostok::cli
