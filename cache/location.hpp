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

/// Judges `folder`, and makes it (mode 0700, with the folders above it) where it is not there and may be. It may be root's, with caches that were
/// made for everybody: read, not written.
FolderVerdict prepare_folder(const std::filesystem::path& folder, bool allow_network, const PathProbe& probe);

/// Whether nobody can write the file while we read it, so that no lock is needed.
bool nobody_can_write(const std::filesystem::path& file, const PathProbe& probe);

/// "NFS", "Lustre", ...; nothing for a local file system.
std::optional<std::string> network_file_system(std::int64_t type);

/// share/vostok of the prefix that the library is installed in.
struct ShippedFolder {
  std::filesystem::path path = {};
  std::optional<unsigned> installation_owner = {};  ///< counts as root for what lies there
  std::string doubt = {};                           ///< why nothing there is used; empty where all is well

  bool is_trusted() const { return doubt.empty(); }
};

/// The file that the library is in: its own, or the executable that it is linked into. Nothing where the system does not say.
std::optional<std::filesystem::path> library_file();

/// Nothing where there is no such folder.
std::optional<ShippedFolder> shipped_folder(const PathProbe& probe, const std::optional<std::filesystem::path>& library = library_file());

}  // namespace vostok::cache
