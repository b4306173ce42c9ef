#include "bench/harness/kernel_changes.hpp"

#include <array>

#include "base/text.hpp"
#include "bench/harness/problems.hpp"

namespace vostok::bench {

namespace {

/// Seconds of compilation are left out: they differ between runs of equal code.
constexpr std::array figures = {"registers",    "spill_bytes", "stack_bytes", "static_shared_bytes",
                                "instructions", "warnings",    "failure"};

std::string kernel_of(const Json& row) {
  const Json architecture = row.value("architecture", Json());
  const Json expression = row.value("expression", Json());
  if (!architecture.is_string() || !expression.is_string())
    fail(ErrorCode::invalid_argument, "cannot compare kernels: a row has no architecture or no expression: {}",
         row.dump());
  return fmt::format("{} {}", architecture.get<std::string>(), expression.get<std::string>());
}

std::map<std::string, const Json*> by_kernel(const Json& rows) {
  std::map<std::string, const Json*> kernels;
  for (const Json& row : rows) kernels[kernel_of(row)] = &row;
  return kernels;
}

/// "registers 96 -> 104, instructions 812 -> 840"; empty where none differs.
std::string differences(const Json& earlier, const Json& now) {
  std::string text;
  for (const char* figure : figures) {
    const Json before = earlier.value(figure, Json()), after = now.value(figure, Json());
    if (before != after)
      text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", figure, before.dump(), after.dump());
  }
  return text;
}

}  // namespace

std::map<std::string, Json> compiled_before(const std::filesystem::path& record) {
  std::map<std::string, Json> rows;
  if (record.empty() || !std::filesystem::exists(record)) return rows;
  const Json whole = Json::parse(read_text(record));
  for (const Json& row : whole.at("rows"))
    if (!row.contains("failure")) rows.emplace(row.at("code").get<std::string>(), row);
  return rows;
}

std::vector<std::string> kernel_changes(const Json& earlier, const Json& now, bool whole) {
  const auto before = by_kernel(earlier), after = by_kernel(now);
  std::vector<std::string> changes;
  for (const auto& [kernel, row] : after) {
    const auto found = before.find(kernel);
    const std::string text = found == before.end() ? "is new" : differences(*found->second, *row);
    if (!text.empty()) changes.push_back(fmt::format("{}: {}", kernel, text));
  }
  if (whole)
    for (const auto& [kernel, row] : before)
      if (!after.contains(kernel)) changes.push_back(fmt::format("{}: is gone", kernel));
  return changes;
}

}  // namespace vostok::bench
