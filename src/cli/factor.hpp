// Factors: passed by value, or read from device memory.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include <vostok/enums.hpp>

namespace vostok::cli {

struct Factor {
  Scale kind = Scale::one;
  float value = 1;
};

/// Adds --scale and --device-scale, which exclude each other; `what` is what they multiply.
void add_factor_options(CLI::App& app, Factor& factor, const std::string& what);

/// ", scale 0.5", ", device_scale 0.5" or nothing.
std::string factor_words(const Factor& factor);

}  // namespace vostok::cli
