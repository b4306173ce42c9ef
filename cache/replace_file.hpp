// A file that is replaced as a whole or not at all.
#pragma once

#include <filesystem>
#include <functional>

namespace vostok::cache {

/// Gives `make` the path of a fresh file beside `path`, and renames it there once it is complete. What fails leaves the old file as it was
/// and removes the fresh one. Errors: io_failure, and those of `make`.
void replace_file(const std::filesystem::path& path, const std::function<void(const std::filesystem::path& fresh)>& make);

}  // namespace vostok::cache
