// The unsigned integer that offsets and positions are kept in: 64 bits only where the problem needs them.
#pragma once

namespace vostok {

template <bool wide>
struct UnsignedOf {
  using Type = unsigned;
};
template <>
struct UnsignedOf<true> {
  using Type = unsigned long long;
};

}  // namespace vostok
