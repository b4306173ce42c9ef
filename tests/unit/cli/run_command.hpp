// `vostok run <operation> --device emulator ...`, and what is expected of it.
#pragma once

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "unit/cli/tool_process.hpp"

namespace vostok::cli::testing {

using Arguments = std::vector<std::string>;

inline Arguments operator+(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

inline Arguments on_emulator(const std::string& operation, const Arguments& more) {
  return Arguments{"run", operation, "--device", "emulator"} + more;
}

inline nlohmann::json json_of(const Outcome& outcome) {
  CAPTURE(outcome.errors);
  CAPTURE(outcome.output);
  REQUIRE(outcome.status == 0);
  return nlohmann::json::parse(outcome.output);
}

/// Runs and verifies each list of options.
inline void check_verified(const Tool& tool, const std::string& operation, const Arguments& common,
                           const std::vector<Arguments>& each) {
  for (const Arguments& options : each) {
    std::string line;
    for (const std::string& word : options) line += " " + word;
    CAPTURE(line);
    const auto object = json_of(tool.run(on_emulator(operation, common + options + Arguments{"--json"})));
    CHECK(object["verified"] == true);
    CHECK(object["operation"] == operation);
  }
}

/// Exit status 2, nothing on stdout, and a sentence with these parts on stderr.
inline void check_refused(const Outcome& outcome, const std::vector<std::string>& parts) {
  CAPTURE(outcome.output);
  CAPTURE(outcome.errors);
  CHECK(outcome.status == 2);
  CHECK(outcome.output.empty());
  CHECK(outcome.errors.starts_with("vostok: "));
  for (const std::string& part : parts) {
    CAPTURE(std::string(part));
    CHECK(contains(outcome.errors, part));
  }
}

}  // namespace vostok::cli::testing
