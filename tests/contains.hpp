// What tests ask of messages.
#pragma once

#include <string_view>

namespace vostok::test {

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace vostok::test
