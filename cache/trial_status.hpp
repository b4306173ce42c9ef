// What the status of a trial means to those who judge rows.
#pragma once

#include <string_view>

namespace vostok::cache {

/// The machine code itself is bad: it must not run again.
inline bool is_failure(std::string_view status) { return status == "wrong" || status == "faulted" || status == "hung"; }

inline bool is_measured(std::string_view status) { return status == "measured"; }

}  // namespace vostok::cache
