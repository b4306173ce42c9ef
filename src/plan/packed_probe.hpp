// The bytes of packed values that do not depend on the values: those by which kernels find their way.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "plan/packed_state.hpp"

namespace vostok::plan {

/// Compares sets of packed values of unknown origin with what packing a topology gives. Packs twice: zeros, and values
/// that differ from them in every 16 bits. Bytes equal in both belong to the structure; the others are values, which
/// may be anything.
class PackedProbe {
 public:
  /// Needs a kind with a packed format. Errors: no_compiler, missing_kernel (the packing kernel is not there),
  /// out_of_memory.
  PackedProbe(const Topology& topology, PackedKind kind);

  /// The first byte of a set that packing this topology cannot give; nothing if there is none. The set must have the
  /// format's size.
  std::optional<std::size_t> first_foreign(std::span<const std::byte> set) const;

 private:
  std::vector<std::byte> zeros_;
  std::vector<std::byte> others_;
};

}  // namespace vostok::plan
