// Options shared by the problems of several operations, and the words for their fields.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include <vostok/problem.hpp>

#include "cli/enum_option.hpp"
#include "cli/job.hpp"
#include "cli/number_option.hpp"
#include "cli/run_options.hpp"
#include "ops/problem_text.hpp"

namespace vostok::cli {

inline CLI::Option* add_size_option(CLI::App& app, const char* option, std::int64_t& value,
                                    const std::string& description) {
  return add_default_number_option(app, option, value, size_limits(), description);
}

/// Adds a required size option; the field's initial value is not a default, so the help does not show it.
inline CLI::Option* add_required_size_option(CLI::App& app, const char* option, std::int64_t& value,
                                             const std::string& description) {
  return add_number_option(app, option, value, size_limits(), description)->required();
}

/// Adds types, batch, math and alignment, if the problem has them.
template <class Problem>
void add_problem_options(CLI::App& app, Problem& problem) {
  add_enum_option(app, "--dtype", problem.element, "Element type of the operands: f32, f16 or bf16; sums are f32");
  if constexpr (requires { problem.output; })
    add_enum_option(app, "--output-dtype", problem.output,
                    "Element type of the output; the operands' where it is not given");
  add_size_option(app, "--batch", problem.batch, "Independent problems in one call");
  if constexpr (requires { problem.index; })
    add_enum_option(app, "--index", problem.index,
                    "Type of the column indices: automatic (u16 where they fit), u16 or i32");
  if constexpr (requires { problem.math; })
    add_enum_option(app, "--math", problem.math, "accurate, strict (fp32 multiply-adds only) or tf32");
  add_default_number_option(app, "--alignment", problem.alignment_bytes, Limits<int>{.unit = "bytes"},
                            "Of every pointer, in bytes: the element's size to 16")
      ->type_name("BYTES");
}

/// Adds --set, which is applied after the other options and overrides them. Errors: invalid_argument.
template <class Problem>
void set_fields(Problem& problem, const RunOptions& options) {
  for (const std::string& assignment : options.fields) ops::set_field(problem, assignment);
}

/// ", f16, output f32, batch 4, math accurate"
template <class Problem>
std::string problem_words(const Problem& problem) {
  const Problem standard{};
  std::string words = fmt::format(", {}", name(problem.element));
  if constexpr (requires { problem.output; })
    if (problem.output && *problem.output != problem.element)
      words += fmt::format(", output {}", name(*problem.output));
  if (problem.batch != standard.batch) words += fmt::format(", batch {}", problem.batch);
  if constexpr (requires { problem.index; })
    if (problem.index != standard.index) words += fmt::format(", index {}", name(problem.index));
  if constexpr (requires { problem.math; }) words += fmt::format(", math {}", name(problem.math));
  if (problem.alignment_bytes != standard.alignment_bytes)
    words += fmt::format(", aligned to {} bytes", problem.alignment_bytes);
  return words;
}

/// The same fields for programs, listed before those of one operation.
template <class Problem>
std::vector<Field> problem_fields_of(const Problem& problem, const std::vector<Field>& more) {
  std::vector<Field> fields = {{"dtype", name(problem.element)}};
  if constexpr (requires { problem.output; })
    fields.push_back({"output_dtype", name(problem.output.value_or(problem.element))});
  fields.push_back({"batch", problem.batch});
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

}  // namespace vostok::cli
