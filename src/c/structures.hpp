// Structures that begin with their own size: those of older and newer programs are read, those of C++ are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include <vostok/vostok.h>

#include "base/text.hpp"
#include "c/constants.hpp"

namespace vostok::c {

/// Copies what the library knows of a caller's structure over its defaults; `known->size` is then the library's.
/// Errors: invalid_argument (null, or a size that is none), unsupported (something behind what is known is not zero).
void copy_known(void* known, std::size_t known_bytes, const void* given, const char* structure);

/// Copies as much of `known` as fits in a caller's structure of `bytes`; the rest becomes zero. `size` is the caller's.
void copy_back(const void* known, std::size_t known_bytes, void* given, std::size_t bytes);

/// The bytes of a structure that is to be filled, as its caller has set `size`. Errors: invalid_argument.
std::size_t bytes_to_fill(const void* given, const char* structure);

[[noreturn]] void fail_reserved(const char* structure, std::int32_t value);
[[noreturn]] void fail_enumerator(const char* structure, const char* field, std::int32_t value,
                                  std::string_view enumeration);
[[noreturn]] void fail_flag(const char* structure, const char* field, std::int32_t value);
[[noreturn]] void fail_list(const char* structure, const char* field, std::int64_t count);

/// What no version knows must be zero.
template <class C>
void require_reserved(const C& known, const char* structure) {
  if constexpr (requires { known.reserved; })
    if (known.reserved != 0) fail_reserved(structure, known.reserved);
}

/// A number as an enumerator.
template <class E>
E enumerator(const char* structure, const char* field, std::int32_t value) {
  if (constant_name(enumeration(E{}), value) == nullptr) fail_enumerator(structure, field, value, enumeration(E{}));
  return static_cast<E>(value);
}

inline bool flag(const char* structure, const char* field, std::int32_t value) {
  if (value != 0 && value != 1) fail_flag(structure, field, value);
  return value != 0;
}

/// Takes fields of a C structure into C++, checked.
class TakeFields {
 public:
  explicit TakeFields(const char* structure) : structure_(structure) {}

  template <class C, class Cpp>
  void operator()(const char* field, const C& from, Cpp& to) const {
    if constexpr (std::is_same_v<Cpp, bool>) to = flag(structure_, field, from);
    else if constexpr (std::is_enum_v<Cpp>) to = enumerator<Cpp>(structure_, field, from);
    else if constexpr (std::is_same_v<Cpp, std::optional<Dtype>>)
      to = from == VOSTOK_DTYPE_DEFAULT ? std::nullopt : std::optional(enumerator<Dtype>(structure_, field, from));
    else {
      static_assert(std::is_same_v<C, Cpp>);
      to = from;
    }
  }

  /// A type whose default is f32.
  void or_f32(const char* field, const std::int32_t& from, std::optional<Dtype>& to) const {
    const auto type = enumerator<Dtype>(structure_, field, from);
    to = type == Dtype::f32 ? std::nullopt : std::optional(type);
  }

  void list(const char* field, const std::int64_t* const& from, const std::int64_t& count,
            std::vector<std::int64_t>& to) const {
    if (count < 0 || (count > 0 && from == nullptr)) fail_list(structure_, field, count);
    to.assign(from, from + count);
  }

 private:
  const char* structure_;
};

/// Gives C the values of C++: defaults and answers.
class GiveFields {
 public:
  template <class C, class Cpp>
  void operator()(const char*, C& to, const Cpp& from) const {
    if constexpr (std::is_same_v<Cpp, std::optional<Dtype>>) to = from ? static_cast<C>(*from) : VOSTOK_DTYPE_DEFAULT;
    else to = static_cast<C>(from);
  }

  void or_f32(const char*, std::int32_t& to, const std::optional<Dtype>& from) const {
    to = static_cast<std::int32_t>(from.value_or(Dtype::f32));
  }

  void list(const char*, const std::int64_t*& to, std::int64_t& count, const std::vector<std::int64_t>& from) const {
    to = from.data();
    count = static_cast<std::int64_t>(from.size());
  }
};

/// What a structure is called, and how its defaults are set: specialised beside each structure's fields.
template <class C>
struct Structure;

template <class C>
C defaults() {
  C made{};
  made.size = sizeof(C);
  Structure<C>::set_defaults(made);
  return made;
}

template <class C>
C read(const C* given) {
  C known = defaults<C>();
  copy_known(&known, sizeof(C), given, Structure<C>::name);
  require_reserved(known, Structure<C>::name);
  return known;
}

/// The same where null means the defaults.
template <class C>
C read_or_defaults(const C* given) {
  return given == nullptr ? defaults<C>() : read(given);
}

template <class C>
void initialise(C* given, std::size_t bytes) {
  const C made = defaults<C>();
  copy_back(&made, sizeof(C), given, bytes);
}

/// Fills a structure whose `size` the caller has set.
template <class C>
void fill(C* given, const C& known, const char* structure) {
  copy_back(&known, sizeof(C), given, bytes_to_fill(given, structure));
}

}  // namespace vostok::c
