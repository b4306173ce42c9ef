// What packing writes whatever the values: the bytes of packed values by which kernels find their way.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "plan/packed_state.hpp"

namespace vostok::plan {

/// One set of packed values of a topology, for comparing sets of unknown origin with it. Made by packing twice: values of zeros, and values of which
/// every 16 bits differ from those. What both have alike belongs to the structure; the rest are values, which may be anything.
class PackedProbe {
 public:
  /// The kind has a packed format. Errors: no_compiler, missing_kernel (what packs is not there), out_of_memory.
  PackedProbe(const Topology& topology, PackedKind kind);

  /// The first byte of a set that cannot be what packing this topology gives; nothing where there is none. The set is as long as the format's.
  std::optional<std::size_t> first_foreign(std::span<const std::byte> set) const;

 private:
  std::vector<std::byte> zeros_;
  std::vector<std::byte> others_;
};

}  // namespace vostok::plan
