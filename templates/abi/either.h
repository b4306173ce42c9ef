// The choice of one of two types by a condition: NVRTC has no standard library.
#pragma once

namespace vostok {

namespace detail {
template <class A, class B, bool second>
struct Choose {
  using Type = A;
};
template <class A, class B>
struct Choose<A, B, true> {
  using Type = B;
};
}  // namespace detail

template <class A, class B, bool second>
using Either = typename detail::Choose<A, B, second>::Type;

}  // namespace vostok
