// The file of a layer: its path, who must vouch for it, and how it is opened for reading.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "base/path_probe.hpp"
#include "cache/database.hpp"
#include "cache/schema.hpp"
#include "cache/signature.hpp"

namespace vostok::cache {

enum class LayerKind { user, read_only, shipped };
const char* name(LayerKind kind);

/// A layer's file, and what may be done with it.
struct LayerFile {
  LayerKind kind = LayerKind::user;
  Content content = Content::tuning;
  std::filesystem::path path;
  bool writable = false;
  int lock_timeout_ms = 0;
  std::vector<PublicKey> trusted_keys = {};  ///< if not empty, files without a signature by one of these are not used
  std::optional<unsigned> installation_owner = {};  ///< of the library's own installation, if the file is part of that
};

/// The content of a file by its first bytes. Nothing if it is not a cache file. Errors: io_failure (it cannot be read,
/// or is not a regular file).
std::optional<Content> content_in(const std::filesystem::path& path);

/// Rows from untrusted places are read into memory whole, up to this size.
constexpr std::int64_t most_untrusted_bytes = std::int64_t{64} << 20;

/// Opens an existing file for reading. What runs as code must be vouched for: by its signature if keys are given, else
/// by its place (base/trusted_path.hpp). A signed file is read once, and those bytes are used. A file in a trusted
/// place is opened by its resolved name. Tuning rows are also taken from other places, as the bytes are now, ignoring
/// everything beside the file, such as locks and logs. Errors: DatabaseError, saying why the file is not used.
std::unique_ptr<Connection> open_to_read(const LayerFile& file, const PathProbe& probe);

}  // namespace vostok::cache
