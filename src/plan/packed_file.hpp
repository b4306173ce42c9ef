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

/// Bytes of any origin: no size that they claim is allocated before it is compared with their own and, where a topology is given, with what its
/// values take; what kernels find their way by is compared with the topology's. `name`: what messages call them. Errors: as
/// Context::load_packed.
PackedValues load_packed(const SessionPointer& session, std::span<const std::byte> bytes, const LoadOptions& options, const std::string& name);
PackedValues load_packed(const SessionPointer& session, const std::filesystem::path& path, const LoadOptions& options);

/// The same of values that stay in the caller's memory. Errors: as Context::adopt_packed.
PackedValues adopt_packed(const SessionPointer& session, std::span<const std::byte> head, const PackedMemory& values, const LoadOptions& options);
PackedValues adopt_packed(const SessionPointer& session, const PackedMemory& saved, const LoadOptions& options);

/// For a topology.
PackedValues load_packed(const Topology& topology, std::span<const std::byte> bytes, const std::string& name);
PackedValues load_packed(const Topology& topology, const std::filesystem::path& path);

/// Errors: io_failure; then no file, or the old one, is there.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace vostok::plan
