// Packed values as bytes: a prefix, a description as text, and the values as they lie in device memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <vostok/packed.hpp>

namespace vostok::plan {

std::vector<std::byte> save_packed(const PackedState& packed);

/// Bytes of any origin: no size that they claim is allocated before it is compared with their own and with what the topology's values take, and what
/// kernels find their way by is compared with the topology's. `name`: what messages call them. Errors: as Context::load_packed.
PackedValues load_packed(const Topology& topology, std::span<const std::byte> bytes, const std::string& name);
PackedValues load_packed(const Topology& topology, const std::filesystem::path& path);

/// Errors: io_failure; then no file, or the old one, is there.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace vostok::plan
