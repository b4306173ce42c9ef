// Small files of unknown origin, read without waiting and without end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace vostok {

/// The file's bytes. Never blocks on a pipe or device, never holds more than `most_bytes`. Errors: io_failure (it
/// cannot be opened or read, is no regular file, or is longer), naming the file.
std::string read_bounded(const std::filesystem::path& path, std::int64_t most_bytes);

/// The first bytes of the file, at most so many. Waits and fails as `read_bounded`, however long the file is.
std::string read_start(const std::filesystem::path& path, std::int64_t bytes);

}  // namespace vostok
