// Values that outlive every other: what functions keep for good may still be asked for by destructors that run behind
// main.
#pragma once

#include <utility>

namespace vostok {

/// What `make()` returns, never destroyed: static const auto& list = immortal([] { return make_list(); });
template <class Make>
const auto& immortal(Make&& make) {
  return *new const auto(std::forward<Make>(make)());
}

}  // namespace vostok
