// Which files nobody but root and this user can have made or can exchange. What runs as code is taken from such places
// only.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/path_probe.hpp"

namespace vostok {

struct TrustedPath {
  /// Absolute and without links. Nothing on it can be exchanged: it is opened by this name, not by the one that was
  /// given.
  std::filesystem::path resolved = {};
  std::string doubt = {};  ///< why it is not trusted, naming what is wrong; empty where it is

  bool is_trusted() const { return doubt.empty(); }
};

/// Follows the path as the system does. It is trusted where every folder and every link on the way, and what it ends
/// at, belongs to root, to the effective user or to `installation_owner` (give the library file's owner for what lies
/// in the library's own installation, else nothing), and nobody else can write it. A group is nobody else where it is
/// root's or the user's private one. A sticky folder that others can write is fine on the way, but not as the folder
/// that a file lies in, nor as the folder asked about. An owner whom the user namespace does not know is accepted on a
/// read-only mount only. Never throws but for std::bad_alloc; what is not there is not trusted.
TrustedPath trusted_path(const std::filesystem::path& path, const PathProbe& probe = PathProbe(),
                         std::optional<unsigned> installation_owner = std::nullopt);

/// The owner of the file that holds the library, where the file is trusted if its owner is. Nothing: nobody but root
/// and the user counts.
std::optional<unsigned> installation_owner(const std::filesystem::path& library, const PathProbe& probe = PathProbe());

/// Whether anybody but root, the owner and the user can write what these facts are of.
bool others_can_write(const PathFacts& facts, const PathProbe& probe);

}  // namespace vostok
