// Values as JSON: unknown, non-finite or absent values are null, so that a file never contains NaN or inf.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bench/harness/side_by_side.hpp"

namespace vostok::bench {

using Json = nlohmann::ordered_json;

/// Six significant digits.
Json number(double value);
Json number(const std::optional<double>& value);
/// Null if the text is empty.
Json text_or_null(const std::string& text);
Json clocks_json(const std::optional<device::Clocks>& clocks);
/// Writes beside the file, then renames, so that the file is complete at every moment. Errors: io_failure.
void write_json(const std::filesystem::path& path, const Json& json);
/// {median_us, spread_us, launches, rounds}; with `failure` if there is no timing.
Json timed_json(const Timed& timed);

}  // namespace vostok::bench
