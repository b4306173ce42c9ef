// Aligned reports: a label, then text, with continuation lines indented below the text.
#pragma once

#include <string>

#include "base/text.hpp"

namespace vostok::cli {

inline constexpr std::size_t label_width = 16;

/// "label           text\n"; an empty label continues the one above.
inline std::string line(const char* label, const std::string& text) {
  return fmt::format("{:<{}}{}\n", label, label_width, text);
}

/// Words broken into lines of about 100 characters, each aligned under the text of its label.
inline std::string wrapped(const std::string& words) {
  constexpr std::size_t most = 100;
  std::string text = words;
  for (std::size_t start = 0; text.size() - start > most;) {
    const std::size_t blank = text.find(' ', start + most);
    if (blank == std::string::npos) break;
    text.replace(blank, 1, "\n" + std::string(label_width, ' '));
    start = blank + 1 + label_width;
  }
  return text;
}

}  // namespace vostok::cli
