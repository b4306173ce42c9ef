// A config of any family in its own type. It is text where it is stored, typed or shown, and nowhere else.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <vostok/plan.hpp>

#include "base/text.hpp"
#include "codegen/fields.hpp"

namespace vostok::ops {

/// What can be done with a config without knowing its type.
struct ConfigType {
  FieldMap (*to_map)(const void* config) = nullptr;
  std::strong_ordering (*compare)(const void* a, const void* b) = nullptr;
};

/// Holds the config in place: a listing has tens of thousands.
class Config {
 public:
  /// No family's.
  Config() = default;

  template <class T>
  static Config of(const T& config) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= room && alignof(T) <= alignof(std::int64_t));
    Config any;
    any.type_ = &type_of<T>;
    std::memcpy(any.bytes_.data(), &config, sizeof(T));
    return any;
  }

  /// The config itself. Errors: internal (it is another family's).
  template <class T>
  T as() const {
    if (type_ != &type_of<T>) fail(ErrorCode::internal, "cannot use a config: it is another family's");
    T config;
    std::memcpy(&config, bytes_.data(), sizeof(T));
    return config;
  }

  /// Every field as text; none of no family's.
  FieldMap to_map() const { return type_ == nullptr ? FieldMap() : type_->to_map(bytes_.data()); }

  /// By the family's type, then by the fields in their order.
  friend std::strong_ordering operator<=>(const Config& a, const Config& b) {
    if (a.type_ != b.type_ || a.type_ == nullptr) return std::compare_three_way()(a.type_, b.type_);
    return a.type_->compare(a.bytes_.data(), b.bytes_.data());
  }
  friend bool operator==(const Config& a, const Config& b) { return (a <=> b) == 0; }

 private:
  static constexpr std::size_t room = 96;

  template <class T>
  static std::array<std::int64_t, codegen::field_count<T>()> values(const T& config) {
    std::array<std::int64_t, codegen::field_count<T>()> list{};
    std::size_t count = 0;
    fields(config, [&](const char*, const auto& value) { list[count++] = static_cast<std::int64_t>(value); });
    return list;
  }

  template <class T>
  static constexpr ConfigType type_of = {
      .to_map = [](const void* config) { return codegen::to_map(*static_cast<const T*>(config)); },
      .compare = [](const void* a,
                    const void* b) { return values(*static_cast<const T*>(a)) <=> values(*static_cast<const T*>(b)); },
  };

  const ConfigType* type_ = nullptr;
  alignas(std::int64_t) std::array<std::byte, room> bytes_ = {};
};

}  // namespace vostok::ops
