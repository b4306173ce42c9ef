// Aligned reports: a label, then text, continued under itself.
#pragma once

#include <string>

#include "base/text.hpp"

namespace vostok::cli {

/// "label       text\n"; an empty label continues the one above.
inline std::string line(const char* label, const std::string& text) { return fmt::format("{:<12}{}\n", label, text); }

}  // namespace vostok::cli
