#include "cache/schema.hpp"

#include "base/text.hpp"

namespace vostok::cache {

namespace {

constexpr std::int64_t schema_version = 1;

// In SQLite's header, so that `file` and we tell the files apart: "VskT" and "VskC".
constexpr std::int64_t tuning_id = 0x56736b54;
constexpr std::int64_t code_id = 0x56736b43;

// Rows of one problem and device lie together (WITHOUT ROWID). The driver is a column of what was measured, not of
// the device: a new driver makes no new device. `config` is canonical text (base/field_map.hpp). A time that is NULL
// was never measured.
constexpr const char* tuning_schema = R"(
CREATE TABLE device(
  id INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL, name TEXT NOT NULL, architecture TEXT NOT NULL, multiprocessors INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL, l2_bytes INTEGER NOT NULL,
  UNIQUE(uuid, name, architecture, multiprocessors));

CREATE TABLE problem(
  id INTEGER PRIMARY KEY,
  operation TEXT NOT NULL, exact TEXT NOT NULL, policy TEXT NOT NULL,
  n INTEGER NOT NULL, m INTEGER NOT NULL, k INTEGER NOT NULL, nonzeros INTEGER NOT NULL, longest_row INTEGER NOT NULL,
  row_variation REAL NOT NULL, index_type TEXT NOT NULL,
  UNIQUE(operation, exact, policy, n, m, k, nonzeros, longest_row, row_variation, index_type));

CREATE TABLE trial(
  problem INTEGER NOT NULL REFERENCES problem(id), device INTEGER NOT NULL REFERENCES device(id),
  family TEXT NOT NULL, config TEXT NOT NULL, code_digest TEXT NOT NULL,
  is_default INTEGER NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL,
  median_us REAL, spread_us REAL, rounds INTEGER NOT NULL,
  registers INTEGER NOT NULL, spill_bytes INTEGER NOT NULL, shared_bytes INTEGER NOT NULL,
  driver TEXT NOT NULL, measured_at INTEGER NOT NULL,
  PRIMARY KEY(problem, device, family, config, code_digest)) WITHOUT ROWID;

-- What is known of code, whatever it served. A file without the index is as good, and slower to ask.
CREATE INDEX trial_by_code ON trial(code_digest);

CREATE TABLE winner(
  problem INTEGER NOT NULL REFERENCES problem(id), device INTEGER NOT NULL REFERENCES device(id),
  family TEXT NOT NULL, config TEXT NOT NULL, code_digest TEXT NOT NULL,
  median_us REAL NOT NULL, default_median_us REAL, rounds INTEGER NOT NULL, effort TEXT NOT NULL,
  library_version TEXT NOT NULL, driver TEXT NOT NULL, decided_at INTEGER NOT NULL,
  PRIMARY KEY(problem, device)) WITHOUT ROWID;

-- A rule that masks configs: every field named in `config` and `exact` must match, empty text matches everything.
CREATE TABLE errata(
  id TEXT PRIMARY KEY,
  operation TEXT NOT NULL, family TEXT NOT NULL, config TEXT NOT NULL, exact TEXT NOT NULL,
  architecture TEXT NOT NULL, code_digest TEXT NOT NULL, last_library_version TEXT NOT NULL,
  reason TEXT NOT NULL, created_at INTEGER NOT NULL) WITHOUT ROWID;
)";

// `binary` is last, so that the other columns are read without walking its overflow pages. `digest` covers the whole
// row but size and last_use. The index orders eviction.
constexpr const char* code_schema = R"(
CREATE TABLE code(
  key TEXT PRIMARY KEY NOT NULL,
  family TEXT NOT NULL, expression TEXT NOT NULL, architecture TEXT NOT NULL, compiler TEXT NOT NULL,
  symbol TEXT NOT NULL, registers INTEGER NOT NULL, spill_bytes INTEGER NOT NULL, stack_bytes INTEGER NOT NULL,
  shared_bytes INTEGER NOT NULL, warnings TEXT NOT NULL,
  digest TEXT NOT NULL, size INTEGER NOT NULL, last_use INTEGER NOT NULL, binary BLOB NOT NULL);

CREATE INDEX code_by_use ON code(last_use, key);
)";

std::int64_t application_id(Content content) { return content == Content::tuning ? tuning_id : code_id; }

/// Whether the file is ours and of this version; false where it is still empty.
bool is_made(Connection& connection, Content content) {
  const std::int64_t id = connection.number("PRAGMA application_id");
  const std::int64_t version = connection.number("PRAGMA user_version");
  if (id == 0 && version == 0 && connection.number("SELECT count(*) FROM sqlite_master") == 0) return false;
  if (id != application_id(content)) throw DatabaseError(Failure::damaged, fmt::format("it is not a {} of vostok", file_name(content)));
  if (version > schema_version)
    throw DatabaseError(Failure::newer_schema, fmt::format("its schema is {}, this library knows {}", version, schema_version));
  if (version < 1) throw DatabaseError(Failure::damaged, "its schema has no version");
  return true;
}

}  // namespace

const char* file_name(Content content) { return content == Content::tuning ? "tuning.db" : "code.db"; }

std::optional<Content> content_of(Connection& connection) {
  const std::int64_t id = connection.number("PRAGMA application_id");
  if (id == tuning_id) return Content::tuning;
  if (id == code_id) return Content::code;
  return std::nullopt;
}

std::optional<Content> content_of(std::string_view first_bytes) {
  constexpr std::string_view title("SQLite format 3\0", 16);
  constexpr std::size_t id_position = 68;  // four bytes, the highest first
  if (!first_bytes.starts_with(title) || first_bytes.size() < id_position + 4) return std::nullopt;
  std::int64_t id = 0;
  for (std::size_t i = 0; i < 4; ++i) id = id * 256 + static_cast<unsigned char>(first_bytes[id_position + i]);
  if (id == tuning_id) return Content::tuning;
  return id == code_id ? std::optional(Content::code) : std::nullopt;
}

void make_schema(Connection& connection, Content content) {
  {
    const Transaction one_state(connection, Transaction::Lock::shared);
    if (is_made(connection, content)) return;
  }
  // Takes effect only in a file without pages: evicted rows can give their space back, and a kernel of some ten kilobytes is read in a few calls.
  if (content == Content::code) connection.execute("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA page_size = 16384");
  Transaction transaction(connection);
  if (is_made(connection, content)) return;  // another opener was first
  connection.execute(content == Content::tuning ? tuning_schema : code_schema);
  connection.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", application_id(content), schema_version));
  transaction.commit();
}

void check_schema(Connection& connection, Content content) {
  const Transaction one_state(connection, Transaction::Lock::shared);
  if (!is_made(connection, content)) throw DatabaseError(Failure::damaged, "it is empty");
}

}  // namespace vostok::cache
