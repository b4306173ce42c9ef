// Which file a layer is, who has to vouch for it, and how it is opened to be read.
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

/// Which file, and what may be done with it.
struct LayerFile {
  LayerKind kind = LayerKind::user;
  Content content = Content::tuning;
  std::filesystem::path path;
  bool writable = false;
  int lock_timeout_ms = 0;
  std::vector<PublicKey> trusted_keys = {};         ///< not empty: what none of them signed is not used
  std::optional<unsigned> installation_owner = {};  ///< of the library's own installation, where the file is part of that
};

/// The content of a file as its first bytes say. Nothing where it is no cache file. Errors: io_failure (it cannot be read, is no regular file).
std::optional<Content> content_in(const std::filesystem::path& path);

/// Rows from places that are not trusted are read into memory as a whole.
constexpr std::int64_t most_untrusted_bytes = std::int64_t{64} << 20;

/// Opens a file that is there, to read it. What runs as code must be vouched for: by its signature where keys are given, else by its place
/// (base/trusted_path.hpp). What is signed is read once, and those bytes are used. A trusted place is opened by its resolved name. Tuning rows
/// are taken from other places too, as the bytes are now: nothing beside such a file, its locks and its logs included, is looked at.
/// Errors: DatabaseError, saying why it is not used.
std::unique_ptr<Connection> open_to_read(const LayerFile& file, const PathProbe& probe);

}  // namespace vostok::cache
