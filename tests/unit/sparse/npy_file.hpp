// NumPy's file format for the tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/text.hpp"

namespace vostok::sparse::testing {

template <class Element>
std::string bytes_of(const std::vector<Element>& elements) {
  std::string bytes(elements.size() * sizeof(Element), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

/// The same, each element's bytes in the other order.
template <class Element>
std::string swapped(const std::vector<Element>& elements) {
  std::string bytes = bytes_of(elements);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Element))
    std::reverse(bytes.data() + at, bytes.data() + at + sizeof(Element));
  return bytes;
}

inline std::string npy(const std::string& header, const std::string& data, int version = 1) {
  const auto length = static_cast<std::uint32_t>(header.size());
  const std::string length_bytes(reinterpret_cast<const char*>(&length), version == 1 ? 2 : 4);
  return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' + length_bytes + header + data;
}

inline std::string header(const std::string& type, const std::string& shape, bool column_major = false) {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}), }}\n", type, column_major ? "True" : "False",
                     shape);
}

}  // namespace vostok::sparse::testing
