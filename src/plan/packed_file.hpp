// Packed values as bytes: a prefix, a description as text, and the values as they lie in device memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include <vostok/packed.hpp>

namespace vostok::plan {

std::vector<std::byte> save_packed(const PackedState& packed);

/// `name`: what messages call the bytes. Errors: as Context::load_packed.
PackedValues load_packed(const Topology& topology, std::span<const std::byte> bytes, const std::string& name);

/// A file's bytes. Errors: io_failure.
std::vector<std::byte> read_file(const std::filesystem::path& path);
/// Errors: io_failure; then no file, or the old one, is there.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace vostok::plan
