// Files as a whole in memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/host_memory.hpp"

namespace vostok::sparse {

/// The bytes of a file or a pipe. Errors, naming the file: io_failure (the system's reason; a device; a pipe that
/// nobody writes to for 5 s), out_of_memory (a file that does not fit in `memory_bytes`, a pipe that takes too much of
/// them).
std::string read_bytes(const std::filesystem::path& path, std::int64_t memory_bytes = available_host_bytes());

/// Makes the file, or replaces what it holds. Errors: io_failure with the system's reason.
void write_bytes(const std::filesystem::path& path, std::string_view bytes);

}  // namespace vostok::sparse
