#include "device/cuda/nvrtc_log.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace vostok::device::cuda {

namespace {

template <class Visit>
void for_each_line(std::string_view text, Visit&& visit) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// The number right before `label`, as in "Used 40 registers"; 0 if the line has no such label.
std::int64_t number_before(std::string_view line, std::string_view label) {
  const auto end = line.find(label);
  if (end == std::string_view::npos) return 0;
  auto first = end;
  while (first > 0 && line[first - 1] >= '0' && line[first - 1] <= '9') --first;
  std::int64_t number = 0;
  std::from_chars(line.data() + first, line.data() + end, number);
  return number;
}

/// ptxas gives its performance warnings numbers from C7500 on, e.g. C7510 for serialised wgmma.
bool means_slow_code(std::string_view line) {
  return line.find("(C75") != std::string_view::npos || line.find("serialized") != std::string_view::npos;
}

bool is_statistic(std::string_view line) {
  return line.starts_with("ptxas info") || line.find("bytes stack frame") != std::string_view::npos;
}

}  // namespace

void read_resources(std::string_view log, Image& image) {
  for_each_line(log, [&](std::string_view line) {
    image.registers = std::max(image.registers, static_cast<int>(number_before(line, " registers")));
    image.spill_bytes += number_before(line, " bytes spill stores") + number_before(line, " bytes spill loads");
    image.stack_bytes = std::max(image.stack_bytes, number_before(line, " bytes stack frame"));
    image.static_shared_bytes = std::max(image.static_shared_bytes, number_before(line, " bytes smem"));
    if (means_slow_code(line)) image.warnings.emplace_back(line);
  });
}

std::string error_excerpt(std::string_view log) {
  constexpr int longest_lines = 30;
  constexpr std::size_t longest_line = 400;
  std::string excerpt;
  int lines = 0;
  int left_out = 0;
  for_each_line(log, [&](std::string_view line) {
    if (line.empty() || is_statistic(line)) return;
    if (++lines > longest_lines) {
      ++left_out;
      return;
    }
    excerpt.append(line.substr(0, longest_line));
    if (line.size() > longest_line) excerpt.append(" ...");
    excerpt.push_back('\n');
  });
  if (left_out > 0) excerpt += "(" + std::to_string(left_out) + " more lines)\n";
  return excerpt;
}

}  // namespace vostok::device::cuda
