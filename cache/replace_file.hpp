// A file that is replaced as a whole or not at all.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace vostok::cache {

/// For what is to be written after long work: refuses a path where no file can be made or replaced, since its folder is
/// not there or cannot be written, or since it is a folder, link, device, pipe or socket. Errors: io_failure, naming
/// the path and what it is.
void require_replaceable(const std::filesystem::path& path);

/// Gives `make` a path in a private folder beside `path`, and renames the file there to `path` once it is complete; it
/// takes on the permissions of the file that it replaces. What fails leaves the old file as it was, and nothing new.
/// Errors: those of require_replaceable and of `make`.
void replace_file(const std::filesystem::path& path, const std::function<void(const std::filesystem::path& fresh)>& make);

/// The same, with this text. Errors: io_failure.
void replace_file(const std::filesystem::path& path, std::string_view text);

}  // namespace vostok::cache
