// Fields listed once: beside each struct that keys, caches and expressions are made of stands one function
//   template <FieldsOf<Struct> S, class Visit> constexpr void fields(S& s, Visit&& visit) { visit("name", s.name); ...
//   }
#pragma once

namespace vostok {

namespace detail {
template <class A, class B>
inline constexpr bool same = false;
template <class A>
inline constexpr bool same<A, A> = true;
}  // namespace detail

/// S is Struct or const Struct.
template <class S, class Struct>
concept FieldsOf = detail::same<S, Struct> || detail::same<S, const Struct>;

}  // namespace vostok
