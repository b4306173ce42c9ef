// A problem's fields, listed once, and what follows from the list: its key and the check of its enumerators. Each
// operation's problem has one function beside it:
//   template <FieldsOf<Sddmm> P, class Visit> constexpr void problem_fields(P& problem, Visit&& visit) { visit("n",
//   problem.n, KeyRole{...}); ... }
#pragma once

#include <numeric>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <vostok/problem.hpp>

#include <abi/fields.h>

#include "base/text.hpp"
#include "codegen/fields.hpp"

namespace vostok {

/// How a problem field takes part in cache keys.
struct KeyRole {
  const char* left_out = nullptr;  ///< why the field is not in the exact part; nullptr: it is
  bool alignment_only =
      false;  ///< a stride that follows the number of nonzeros: the exact part has only its divisibility
  bool beside =
      false;  ///< done beside the product itself: a choice tuned at the field's default serves, if its rules admit it
  const char* stored_as = nullptr;  ///< what the exact part has for every value: all of them share their choices
  bool later = false;  ///< added later: no key has the field's default, so that keys from before it stay valid
};

template <FieldsOf<Epilogue> E, class Visit>
constexpr void fields(E& epilogue, Visit&& visit) {
  visit("bias", epilogue.bias);
  visit("bias_element", epilogue.bias_element);
  visit("residual", epilogue.residual);
  visit("activation", epilogue.activation);
  visit("scale", epilogue.scale);
  visit("accumulate", epilogue.accumulate);
}
static_assert(codegen::lists_every_field<Epilogue>(), "fields(Epilogue) must name every member");

template <FieldsOf<Padding> P, class Visit>
constexpr void fields(P& padding, Visit&& visit) {
  visit("top", padding.top);
  visit("bottom", padding.bottom);
  visit("left", padding.left);
  visit("right", padding.right);
}
static_assert(codegen::lists_every_field<Padding>(), "fields(Padding) must name every member");

namespace ops {

/// static_assert(lists_every_problem_field<Sddmm>());
template <class P>
constexpr bool lists_every_problem_field() {
  int listed = 0;
  P problem{};
  problem_fields(problem, [&](const char*, const auto&, KeyRole) { ++listed; });
  return listed == codegen::field_count<P>();
}

/// The field that says in which type kernels read column indices, wherever the problem has it; null if it has none.
template <class P>
auto index_field(P& problem) {
  std::conditional_t<std::is_const_v<P>, const IndexType*, IndexType*> index = nullptr;
  problem_fields(problem, [&](const char*, auto& value, KeyRole) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, IndexType>) index = &value;
  });
  return index;
}

namespace detail {

/// The power of two up to 16 that divides a stride; strides of 0 are packed.
inline std::string alignment_text(std::int64_t stride) {
  return stride == 0 ? "packed" : std::to_string(std::gcd(stride, std::int64_t{16}));
}

/// The text of a value; nothing for an optional field without a value, and for the default of a later one. Such fields
/// were added later, and keys without them stay valid.
template <class V>
std::optional<std::string> leaf_text(const V& value, KeyRole role) {
  if (role.later && value == V{}) return std::nullopt;
  if constexpr (requires { value.value(); }) return value ? std::optional(codegen::value_text(*value)) : std::nullopt;
  else return codegen::value_text(value);
}

/// The fields for which `text(value, role)` returns a text.
template <class P, class Text>
FieldMap fields_with_text(const P& problem, const Text& text) {
  FieldMap map;
  const auto add = [&](std::string field, std::optional<std::string> written) {
    if (written) map[std::move(field)] = *std::move(written);
  };
  problem_fields(problem, [&](const char* field, const auto& value, KeyRole role) {
    using V = std::remove_cvref_t<decltype(value)>;
    if constexpr (requires { fields(value, [](const char*, const auto&) {}); }) {
      fields(value, [&](const char* inner, const auto& v) { add(std::string(field) + "." + inner, text(v, role)); });
    } else if constexpr (!std::is_same_v<V, std::vector<std::int64_t>>) {
      add(field, text(value, role));
    }
  });
  return map;
}

/// A field's text in the exact part of cache keys, if it is part of that.
template <class V>
std::optional<std::string> exact_text(const V& value, KeyRole role) {
  if (role.left_out != nullptr) return std::nullopt;
  if (role.stored_as != nullptr) return role.stored_as;
  if constexpr (std::is_same_v<V, std::int64_t>)
    if (role.alignment_only) return alignment_text(value);
  return leaf_text(value, role);
}

template <class P>
FieldMap exact_fields(const P& resolved) {
  return fields_with_text(resolved, [](const auto& value, KeyRole role) { return exact_text(value, role); });
}

/// The fields of the exact part that are done beside the product.
template <class P>
FieldMap fields_beside(const P& problem) {
  return fields_with_text(
      problem, [](const auto& value, KeyRole role) { return role.beside ? exact_text(value, role) : std::nullopt; });
}

}  // namespace detail

/// "batch=1 element=f32 ..." of every field that is in the exact part of cache keys.
template <class P>
std::string exact_key(const P& resolved) {
  return to_text(detail::exact_fields(resolved));
}

/// The exact key of the problem without what is done beside its product; empty if nothing is.
template <class P>
std::string plain_key(const P& resolved) {
  const FieldMap beside = detail::fields_beside(resolved);
  const FieldMap standard = detail::fields_beside(P{});
  FieldMap plain = detail::exact_fields(resolved);
  bool same = true;
  for (const auto& [field, text] : beside) {
    const auto position = standard.find(field);
    if (position != standard.end() && position->second == text) continue;
    same = false;
    if (position == standard.end()) plain.erase(field);
    else plain[field] = position->second;
  }
  return same ? std::string() : to_text(plain);
}

/// A key of every field, in full: problems with different identities may need different kernels.
template <class P>
std::string identity_of(const P& resolved) {
  return to_text(detail::fields_with_text(
      resolved, [](const auto& value, KeyRole role) { return detail::leaf_text(value, role); }));
}

/// Throws invalid_argument for an unknown enumerator; `object` is what cannot be planned ("SpMM").
template <class P>
void require_enumerators(const char* object, const P& problem) {
  const auto require_name = [&](const char* field, auto value) {
    if (name(value) == nullptr)
      fail(ErrorCode::invalid_argument, "cannot plan {}: {} = {} is no enumerator", object, field,
           static_cast<int>(value));
  };
  const auto check = [&](const char* field, const auto& value) {
    if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(value)>>) require_name(field, value);
    else if constexpr (requires { value.value(); })
      if (value) require_name(field, *value);
  };
  problem_fields(problem, [&](const char* field, const auto& value, KeyRole) {
    if constexpr (requires { fields(value, check); }) {
      fields(value, [&](const char* inner, const auto& v) { check((std::string(field) + "." + inner).c_str(), v); });
    } else {
      check(field, value);
    }
  });
}

/// Throws invalid_argument unless `value` is at least `least`.
inline void require_at_least(const char* object, const char* field, std::int64_t value, std::int64_t least) {
  if (value < least)
    fail(ErrorCode::invalid_argument, "cannot plan {}: {} = {} is less than {}", object, field, value, least);
}

/// Throws invalid_argument unless the alignment is a power of two from the element's size to 16.
inline void require_alignment(const char* object, int alignment_bytes, Dtype element) {
  if (alignment_bytes < size_of(element) || alignment_bytes > 16 || (alignment_bytes & (alignment_bytes - 1)) != 0)
    fail(ErrorCode::invalid_argument, "cannot plan {}: alignment_bytes = {} is not a power of two from {} to 16",
         object, alignment_bytes, size_of(element));
}

/// More elements than any memory holds; a few times as many still fit in 64 bits.
inline constexpr std::int64_t most_elements = std::int64_t{1} << 56;

/// Throws invalid_argument for a leading dimension or stride (0: packed) that is smaller than its extent, or beyond all
/// memory.
inline void require_stride(const char* object, const char* field, std::int64_t stride, std::int64_t extent) {
  if (stride > most_elements)
    fail(ErrorCode::invalid_argument, "cannot plan {}: {} = {} is more than {}", object, field, stride, most_elements);
  if (stride != 0 && stride < extent)
    fail(ErrorCode::invalid_argument, "cannot plan {}: {} = {} is smaller than {} (0 means packed)", object, field,
         stride, extent);
}

/// Throws unsupported, naming the field, its value and what this version supports.
[[noreturn]] inline void refuse(const char* object, const char* field, const std::string& value,
                                const char* supported) {
  fail(ErrorCode::unsupported, "cannot plan {}: {} = {} is not supported by this version ({})", object, field, value,
       supported);
}

/// Refuses a bias that is neither f32 nor of the element type.
inline void require_bias_element(const char* object, const char* field, const std::optional<Dtype>& bias_element,
                                 Dtype element) {
  if (bias_element && *bias_element != Dtype::f32 && *bias_element != element)
    refuse(object, field, name(*bias_element), "f32 and the element type");
}

/// Absent if there is no bias or it is f32, so that equal problems have equal keys, also those from before the field
/// existed.
inline std::optional<Dtype> resolve_bias_element(bool has_bias, const std::optional<Dtype>& bias_element) {
  return has_bias && bias_element != Dtype::f32 ? bias_element : std::nullopt;
}

/// The type in which kernels read column indices: the one asked for, else u16 if every column fits.
inline IndexType resolve_index(const char* object, IndexType asked, std::int64_t columns) {
  const bool narrow = columns <= 65536;
  if (asked == IndexType::automatic) return narrow ? IndexType::u16 : IndexType::i32;
  if (asked == IndexType::u16 && !narrow)
    fail(ErrorCode::invalid_argument,
         "cannot plan {}: index = u16 holds columns to 65535, and the matrix has {} columns", object, columns);
  return asked;
}

}  // namespace ops
}  // namespace vostok
