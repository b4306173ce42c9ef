// Where cache files lie, and whether a folder or a file there may be used. Code is loaded from these files, so what
// others can write is not.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/path_probe.hpp"

namespace vostok::cache {

enum class FolderUse { read_write, read_only, none };

/// What may be done with the user's folder. `reason` is empty for read_write, else the sentence for the one warning.
struct FolderVerdict {
  FolderUse use = FolderUse::read_write;
  std::string reason;
};

/// Judges `folder`, and makes it (mode 0700, with the folders above it) where it is not there and may be.
FolderVerdict prepare_folder(const std::filesystem::path& folder, bool allow_network, const PathProbe& probe);

/// Why a file, or the folder it lies in, must not be trusted; nothing where it may be.
std::optional<std::string> distrust(const std::filesystem::path& file, const PathProbe& probe);
/// The same, and it must belong to this user.
std::optional<std::string> distrust_own(const std::filesystem::path& file, const PathProbe& probe);

/// Whether nobody can write the file while we read it, so that no lock is needed.
bool nobody_can_write(const std::filesystem::path& file, const PathProbe& probe);

/// "NFS", "Lustre", ...; nothing for a local file system.
std::optional<std::string> network_file_system(std::int64_t type);

/// share/vostok of the prefix that the library (or the executable it is linked into) is installed in, where it exists.
std::optional<std::filesystem::path> shipped_folder(const PathProbe& probe);

}  // namespace vostok::cache
