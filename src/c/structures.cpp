#include "c/structures.hpp"

#include <algorithm>
#include <cstring>

namespace vostok::c {

namespace {

using Size = std::uint32_t;

/// No version has larger ones: such a size was never set.
constexpr Size most_bytes = 4096;

Size size_of_structure(const void* given, const char* structure) {
  if (given == nullptr) fail(ErrorCode::invalid_argument, "cannot read {}: the pointer to it is NULL", structure);
  Size size = 0;
  std::memcpy(&size, given, sizeof(Size));
  if (size < sizeof(Size) || size > most_bytes)
    fail(ErrorCode::invalid_argument, "cannot read {}: size = {} is none of its sizes; {}_init or sizeof gives it",
         structure, size, structure);
  return size;
}

}  // namespace

void copy_known(void* known, std::size_t known_bytes, const void* given, const char* structure) {
  const std::size_t bytes = size_of_structure(given, structure);
  const char* const source = static_cast<const char*>(given);
  const auto* const unknown =
      std::find_if(source + std::min(bytes, known_bytes), source + bytes, [](char byte) { return byte != 0; });
  if (unknown != source + bytes)
    fail(ErrorCode::unsupported,
         "cannot read {}: byte {} is not 0, and this library knows {} bytes of it; it is of a newer version", structure,
         unknown - source, known_bytes);
  const auto size = static_cast<Size>(known_bytes);
  std::memcpy(known, given, std::min(bytes, known_bytes));
  std::memcpy(known, &size, sizeof(Size));
}

void copy_back(const void* known, std::size_t known_bytes, void* given, std::size_t bytes) {
  if (given == nullptr || bytes < sizeof(Size)) return;
  const std::size_t copied = std::min(bytes, known_bytes);
  std::memcpy(given, known, copied);
  std::memset(static_cast<char*>(given) + copied, 0, bytes - copied);
  const auto size = static_cast<Size>(bytes);
  std::memcpy(given, &size, sizeof(Size));
}

std::size_t bytes_to_fill(const void* given, const char* structure) { return size_of_structure(given, structure); }

void fail_reserved(const char* structure, std::int32_t value) {
  fail(ErrorCode::unsupported, "cannot read {}: reserved = {} is not 0; it is of a newer version", structure, value);
}

void fail_enumerator(const char* structure, const char* field, std::int32_t value, std::string_view enumeration) {
  fail(ErrorCode::invalid_argument, "cannot read {}: {} = {} is none of {} ({})", structure, field, value, enumeration,
       constant_names(enumeration));
}

void fail_flag(const char* structure, const char* field, std::int32_t value) {
  fail(ErrorCode::invalid_argument, "cannot read {}: {} = {} is neither 0 nor 1", structure, field, value);
}

void fail_list(const char* structure, const char* field, std::int64_t count) {
  fail(ErrorCode::invalid_argument, "cannot read {}: {} is no list of {}", structure, field, count);
}

}  // namespace vostok::c
