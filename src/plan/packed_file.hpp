// Packed values as they are saved: a head (plan/packed_head.hpp), and the values as they lie in device memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <vostok/packed.hpp>

#include "plan/session.hpp"

namespace vostok::plan {

std::vector<std::byte> save_packed(const PackedState& packed);
std::vector<std::byte> save_packed_head(const PackedState& packed);

using SessionPointer = std::shared_ptr<Session>;

/// Loads bytes of any origin. A claimed size is compared with the bytes' own, and with what the topology's values take
/// if one is given, before it is allocated. What kernels use to find their way is compared with the topology's. `name`:
/// for messages. Errors: as Context::load_packed.
PackedValues load_packed(const SessionPointer& session, std::span<const std::byte> bytes, const LoadOptions& options,
                         const std::string& name);
PackedValues load_packed(const SessionPointer& session, const std::filesystem::path& path, const LoadOptions& options);

/// As load_packed, for values that stay in the caller's memory. Errors: as Context::adopt_packed.
PackedValues adopt_packed(const SessionPointer& session, std::span<const std::byte> head, const PackedMemory& values,
                          const LoadOptions& options);
PackedValues adopt_packed(const SessionPointer& session, const PackedMemory& saved, const LoadOptions& options);

/// Loads for a given topology.
PackedValues load_packed(const Topology& topology, std::span<const std::byte> bytes, const std::string& name);
PackedValues load_packed(const Topology& topology, const std::filesystem::path& path);

/// Writes the whole file or fails, leaving no file or the old one. Errors: io_failure.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace vostok::plan
