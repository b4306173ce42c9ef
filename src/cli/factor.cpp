#include "cli/factor.hpp"

#include "base/text.hpp"
#include "cli/number_option.hpp"

namespace vostok::cli {

void add_factor_options(CLI::App& app, Factor& factor, const std::string& what) {
  const auto add = [&](const char* option, Scale kind, const char* from) {
    const auto take = [&factor, kind, option](const std::string& text) {
      factor = {.kind = kind, .value = number_value<float>(option, text, {})};
    };
    return app.add_option_function<std::string>(option, take, fmt::format("Multiply {} by this, {}", what, from))
        ->type_name("X");
  };
  CLI::Option* by_value = add("--scale", Scale::host, "passed by value");
  add("--device-scale", Scale::device, "read from device memory")->excludes(by_value);
}

std::string factor_words(const Factor& factor) {
  if (factor.kind == Scale::one) return {};
  return fmt::format(", {}scale {}", factor.kind == Scale::device ? "device_" : "", factor.value);
}

}  // namespace vostok::cli
