// The head of saved packed values: a prefix, a description as text, the coded structure, and zeros up to a multiple of
// 256 bytes, so that the values after it can be read in place. Version 1 had neither the structure nor the zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <vostok/plan.hpp>

#include "sparse/coded_structure.hpp"

namespace vostok::plan {

/// A head as read. Only the consistency of its sizes has been checked.
struct PackedHead {
  std::uint32_t version = 0;
  FieldMap description = {};
  std::uint64_t description_bytes = 0;
  std::uint64_t coded_bytes = 0;  ///< of the structure
  std::uint64_t bytes = 0;        ///< size of the head
  std::uint64_t value_bytes = 0;
  std::string digest = {};  ///< digest of everything else, as stored
};

/// Upper bound on the bytes from the start that contain the description, and with it all sizes.
std::size_t most_front_bytes();

/// Reads the head from the first bytes of a file of `all_bytes` bytes. `name`: for messages. Errors: io_failure.
PackedHead read_head(std::span<const std::byte> front, std::uint64_t all_bytes, const std::string& name);
/// Reads a whole head whose values lie elsewhere.
PackedHead read_head_alone(std::span<const std::byte> head, const std::string& name);

/// The number in a field of a description; nothing if it is missing or negative.
std::optional<std::int64_t> number_in(const FieldMap& description, const char* field);

/// The digest that the head should have, of its bytes and the values.
std::string digest_of(const PackedHead& head, std::span<const std::byte> head_bytes, std::span<const std::byte> values);

/// The saved structure. Errors: io_failure if there is none, or it is not the one that the description names.
sparse::Csr structure_of(const PackedHead& head, std::span<const std::byte> head_bytes, const std::string& name);
std::span<const std::byte> coded_structure_of(const PackedHead& head, std::span<const std::byte> head_bytes);

/// The head of these values.
std::vector<std::byte> write_head(FieldMap description, const sparse::CodedStructure& structure,
                                  std::span<const std::byte> values);

[[noreturn]] void fail_broken(const std::string& name, const std::string& why);

}  // namespace vostok::plan
