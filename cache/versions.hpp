// The order of version texts.
#pragma once

#include <string_view>

namespace vostok::cache {

/// Whether version `a` ("0.10.2", "nvrtc 13.0.88") is newer than `b`: numbers count as numbers, everything else as
/// text.
bool is_newer(std::string_view a, std::string_view b);

}  // namespace vostok::cache
