#include "cache/layer_file.hpp"

#include "base/bounded_file.hpp"
#include "base/text.hpp"
#include "base/trusted_path.hpp"
#include "cache/location.hpp"

namespace vostok::cache {

namespace {

[[noreturn]] void refuse(const std::string& reason) { throw DatabaseError(Failure::unwritable, reason); }

/// Whether SQLite would read a log beside the file, or create one.
bool has_write_ahead_log(const std::filesystem::path& path, const PathProbe& probe) {
  if (probe.entry(path.string() + "-wal")) return true;
  constexpr std::size_t versions = 18;
  const std::string start = read_start(path, versions + 2);
  return start.size() == versions + 2 && (start[versions] == 2 || start[versions + 1] == 2);
}

/// Opens without locks only if no writer is possible: a shipped file is never written once it is in place.
std::unique_ptr<Connection> open_place(const LayerFile& file, const std::filesystem::path& place,
                                       const PathProbe& probe) {
  if (file.kind == LayerKind::shipped || nobody_can_write(place, probe))
    return std::make_unique<Connection>(place, Access::immutable, file.lock_timeout_ms);
  if (has_write_ahead_log(place, probe))
    refuse("it has a write-ahead log, which is not read (PRAGMA journal_mode = DELETE ends it)");
  return std::make_unique<Connection>(place, Access::read_only, file.lock_timeout_ms);
}

std::unique_ptr<Connection> open_vouched(const LayerFile& file, const PathProbe& probe) {
  if (!file.trusted_keys.empty())
    return std::make_unique<Connection>(signed_bytes(file.path, file.trusted_keys), file.path.string());
  const TrustedPath place = trusted_path(file.path, probe, file.installation_owner);
  if (place.is_trusted()) return open_place(file, place.resolved, probe);
  if (file.kind == LayerKind::user) refuse(place.doubt);
  if (file.content == Content::code)
    refuse(fmt::format("{}: kernels from there need the signature of a trusted key", place.doubt));
  return std::make_unique<Connection>(read_bounded(file.path, most_untrusted_bytes), file.path.string());
}

}  // namespace

const char* name(LayerKind kind) {
  switch (kind) {
    case LayerKind::user: return "user";
    case LayerKind::read_only: return "read-only";
    case LayerKind::shipped: return "shipped";
  }
  return nullptr;
}

std::optional<Content> content_in(const std::filesystem::path& path) {
  constexpr std::int64_t header_bytes = 100;
  return content_of(read_start(path, header_bytes));
}

std::unique_ptr<Connection> open_to_read(const LayerFile& file, const PathProbe& probe) {
  std::unique_ptr<Connection> connection;
  try {
    connection = open_vouched(file, probe);
  } catch (const DatabaseError&) {
    throw;
  } catch (const Error& error) {  // the file cannot be read, or is not trusted
    refuse(error.what());
  }
  check_schema(*connection, file.content);
  return connection;
}

}  // namespace vostok::cache
