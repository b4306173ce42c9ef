// Replaces a file as a whole or not at all.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace vostok::cache {

/// Checks, before long work, that a file can be created or replaced at `path`. Refused: the folder is missing or not
/// writable, or the path is a folder, link, device, pipe or socket. Errors: io_failure, naming the path and what it is.
void require_replaceable(const std::filesystem::path& path);

/// Gives `make` a path in a private folder beside `path`, and renames the complete file to `path` with the permissions
/// of the file that it replaces. A failure leaves the old file as it was, and nothing new. Errors: those of
/// require_replaceable and of `make`.
void replace_file(const std::filesystem::path& path,
                  const std::function<void(const std::filesystem::path& fresh)>& make);

/// As above, with this text as the content. Errors: io_failure.
void replace_file(const std::filesystem::path& path, std::string_view text);

}  // namespace vostok::cache
