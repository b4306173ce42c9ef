// Where cache files are, and whether a folder or a file there may be used. Code is loaded from these files, so files
// that others can write are not used.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/path_probe.hpp"

namespace vostok::cache {

enum class FolderUse { read_write, read_only, none };

/// The permitted use of the user's folder. `reason` is empty for read_write, else the sentence of the one warning.
struct FolderVerdict {
  FolderUse use = FolderUse::read_write;
  std::string reason;
};

/// Judges `folder`, and creates it (mode 0700, with the folders above it) if it is missing and may be created. A folder
/// owned by root, with caches for everybody, is read but not written.
FolderVerdict prepare_folder(const std::filesystem::path& folder, bool allow_network, const PathProbe& probe);

/// Whether nobody can write the file during reading, so that no lock is needed.
bool nobody_can_write(const std::filesystem::path& file, const PathProbe& probe);

/// "NFS", "Lustre", ...; nothing for a local file system.
std::optional<std::string> network_file_system(std::int64_t type);

/// share/vostok of the prefix that the library is installed in.
struct ShippedFolder {
  std::filesystem::path path = {};
  std::optional<unsigned> installation_owner = {};  ///< counts as root for files there
  std::string doubt = {};                           ///< why nothing there is used; empty if all is well

  bool is_trusted() const { return doubt.empty(); }
};

/// The file that contains the library: its own, or the executable that it is linked into. Nothing if the system does
/// not tell.
std::optional<std::filesystem::path> library_file();

/// Nothing if there is no such folder.
std::optional<ShippedFolder> shipped_folder(const PathProbe& probe,
                                            const std::optional<std::filesystem::path>& library = library_file());

}  // namespace vostok::cache
