#include "cache/schema.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <span>
#include <string_view>

#include "base/printable.hpp"
#include "base/text.hpp"

namespace vostok::cache {

namespace {

constexpr std::int64_t schema_version = 1;

// Stored in SQLite's header, so that `file` and this library tell the files apart: "VskT" and "VskC".
constexpr std::int64_t tuning_id = 0x56736b54;
constexpr std::int64_t code_id = 0x56736b43;

/// A table or an index as SQLite's schema lists it.
struct Object {
  const char* type;
  const char* name;
  const char* table;
  const char* sql;
  bool may_be_missing = false;
};

// Rows of one problem and device are stored together (WITHOUT ROWID). The driver belongs to a measurement, not to the
// device, so that a new driver does not make a new device. `config` is canonical text (base/field_map.hpp). A NULL time
// was never measured.
constexpr Object tuning_objects[] = {
    {"table", "device", "device", R"(
CREATE TABLE device(
  id INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL, name TEXT NOT NULL, architecture TEXT NOT NULL, multiprocessors INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL, l2_bytes INTEGER NOT NULL,
  UNIQUE(uuid, name, architecture, multiprocessors)))"},

    {"table", "problem", "problem", R"(
CREATE TABLE problem(
  id INTEGER PRIMARY KEY,
  operation TEXT NOT NULL, exact TEXT NOT NULL, policy TEXT NOT NULL,
  n INTEGER NOT NULL, m INTEGER NOT NULL, k INTEGER NOT NULL, nonzeros INTEGER NOT NULL, longest_row INTEGER NOT NULL,
  row_variation REAL NOT NULL, index_type TEXT NOT NULL,
  UNIQUE(operation, exact, policy, n, m, k, nonzeros, longest_row, row_variation, index_type)))"},

    {"table", "trial", "trial", R"(
CREATE TABLE trial(
  problem INTEGER NOT NULL REFERENCES problem(id), device INTEGER NOT NULL REFERENCES device(id),
  family TEXT NOT NULL, config TEXT NOT NULL, code_digest TEXT NOT NULL,
  is_default INTEGER NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL,
  median_us REAL, spread_us REAL, rounds INTEGER NOT NULL,
  registers INTEGER NOT NULL, spill_bytes INTEGER NOT NULL, shared_bytes INTEGER NOT NULL,
  driver TEXT NOT NULL, measured_at INTEGER NOT NULL,
  PRIMARY KEY(problem, device, family, config, code_digest)) WITHOUT ROWID)"},

    // Looks up what is known of code, for any problem. A file without the index works, but slower.
    {"index", "trial_by_code", "trial", "CREATE INDEX trial_by_code ON trial(code_digest)", true},

    {"table", "winner", "winner", R"(
CREATE TABLE winner(
  problem INTEGER NOT NULL REFERENCES problem(id), device INTEGER NOT NULL REFERENCES device(id),
  family TEXT NOT NULL, config TEXT NOT NULL, code_digest TEXT NOT NULL,
  median_us REAL NOT NULL, default_median_us REAL, rounds INTEGER NOT NULL, effort TEXT NOT NULL,
  library_version TEXT NOT NULL, driver TEXT NOT NULL, decided_at INTEGER NOT NULL,
  PRIMARY KEY(problem, device)) WITHOUT ROWID)"},

    // A rule that masks configs: every field named in `config` and `exact` must match, empty text matches everything.
    {"table", "errata", "errata", R"(
CREATE TABLE errata(
  id TEXT PRIMARY KEY,
  operation TEXT NOT NULL, family TEXT NOT NULL, config TEXT NOT NULL, exact TEXT NOT NULL,
  architecture TEXT NOT NULL, code_digest TEXT NOT NULL, last_library_version TEXT NOT NULL,
  reason TEXT NOT NULL, created_at INTEGER NOT NULL) WITHOUT ROWID)"}};

// `binary` is last, so that the other columns are read without its overflow pages. `digest` covers the whole row except
// size and last_use. The index orders eviction.
constexpr Object code_objects[] = {
    {"table", "code", "code", R"(
CREATE TABLE code(
  key TEXT PRIMARY KEY NOT NULL,
  family TEXT NOT NULL, expression TEXT NOT NULL, architecture TEXT NOT NULL, compiler TEXT NOT NULL,
  symbol TEXT NOT NULL, registers INTEGER NOT NULL, spill_bytes INTEGER NOT NULL, stack_bytes INTEGER NOT NULL,
  shared_bytes INTEGER NOT NULL, warnings TEXT NOT NULL,
  digest TEXT NOT NULL, size INTEGER NOT NULL, last_use INTEGER NOT NULL, binary BLOB NOT NULL))"},

    {"index", "code_by_use", "code", "CREATE INDEX code_by_use ON code(last_use, key)", true}};

/// The table that SQLite adds if a user has run ANALYZE.
constexpr Object statistics_objects[] = {
    {"table", "sqlite_stat1", "sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)", true},
    {"table", "sqlite_stat4", "sqlite_stat4", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)", true}};

// No text of a tuning.db is longer, even a compiler's output; nor is a kernel.
constexpr int longest_tuning_value = 1 << 20;
constexpr int longest_code_value = 64 << 20;

std::span<const Object> objects_of(Content content) {
  if (content == Content::tuning) return tuning_objects;
  return code_objects;
}

std::int64_t application_id(Content content) { return content == Content::tuning ? tuning_id : code_id; }

[[noreturn]] void refuse(const Connection& connection, Failure failure, const std::string& reason) {
  throw DatabaseError(failure, fmt::format("cannot use {}: {}", connection.name(), reason));
}

/// Collapses runs of blanks and line ends to one blank; trims both ends.
std::string folded(std::string_view sql) {
  std::string text;
  for (const char byte : sql) {
    const bool is_blank = byte == ' ' || (byte >= '\t' && byte <= '\r');
    if (!is_blank) text += byte;
    else if (!text.empty() && text.back() != ' ') text += ' ';
  }
  if (text.ends_with(' ')) text.pop_back();
  return text;
}

/// Whether an index is one that SQLite makes for a key. Such indices have no SQL, and SQLite refuses a file in
/// which one belongs to no key.
bool is_of_a_key(const Statement& row) {
  return row.text(0) == "index" && row.is_null(3) && row.text(1).starts_with("sqlite_autoindex_");
}

const Object* find_object(std::span<const Object> objects, const Statement& row) {
  const auto is_it = [&](const Object& object) {
    return row.text(0) == object.type && row.text(1) == object.name && row.text(2) == object.table &&
           folded(row.text(3)) == folded(object.sql);
  };
  const auto found = std::find_if(objects.begin(), objects.end(), is_it);
  return found == objects.end() ? nullptr : &*found;
}

/// Requires that the file has exactly our tables as we make them: a view, a trigger, a default or a check added by
/// someone would run with our statements.
void require_own_objects(Connection& connection, Content content) {
  const std::span<const Object> own = objects_of(content);
  std::set<std::string_view> seen;
  Statement row = connection.query("SELECT type, name, tbl_name, sql FROM sqlite_master");
  while (row.step()) {
    if (is_of_a_key(row)) continue;
    const Object* known = find_object(own, row);
    if (known == nullptr) known = find_object(statistics_objects, row);
    if (known == nullptr)
      refuse(connection, Failure::damaged,
             fmt::format("its {} \"{}\" is not as vostok makes {}", printable(row.text(0)), printable(row.text(1)),
                         file_name(content)));
    seen.insert(known->name);
  }
  for (const Object& object : own)
    if (!object.may_be_missing && !seen.contains(object.name))
      refuse(connection, Failure::damaged, fmt::format("its {} \"{}\" is missing", object.type, object.name));
}

/// Whether the file is ours and of this version; false if it is still empty.
bool is_made(Connection& connection, Content content) {
  connection.limit_values(content == Content::tuning ? longest_tuning_value : longest_code_value);
  const std::int64_t id = connection.number("PRAGMA application_id");
  const std::int64_t version = connection.number("PRAGMA user_version");
  if (id == 0 && version == 0 && !connection.query("SELECT 1 FROM sqlite_master").step()) return false;
  if (id != application_id(content))
    refuse(connection, Failure::damaged, fmt::format("it is not a {} of vostok", file_name(content)));
  if (version > schema_version)
    refuse(connection, Failure::newer_schema,
           fmt::format("its schema is {}, this library knows {}", version, schema_version));
  if (version < 1) refuse(connection, Failure::damaged, "its schema has no version");
  require_own_objects(connection, content);
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

Content require_cache_file(Connection& connection) {
  const auto content = content_of(connection);
  if (!content) refuse(connection, Failure::damaged, "it is no cache file of vostok");
  check_schema(connection, *content);
  return *content;
}

std::vector<std::string> page_faults(Connection& connection, int most) {
  connection.limit_statements(std::chrono::minutes(10));  // enough for a full code.db on a slow disk
  std::vector<std::string> faults;
  Statement check = connection.query(fmt::format("PRAGMA integrity_check({})", most));
  while (check.step())
    if (check.text(0) != "ok") faults.push_back(printable(check.text(0)));
  return faults;
}

// Not count(*): SQLite counts that in one step that cannot be interrupted, and a malformed file may have no end.
std::int64_t row_count(Connection& connection, const char* table) {
  return connection.number(fmt::format("SELECT count(1) FROM {}", table));
}

void make_schema(Connection& connection, Content content) {
  {
    const Transaction one_state(connection, Transaction::Lock::shared);
    if (is_made(connection, content)) return;
  }
  // Takes effect only in a file without pages. Evicted rows can then give their space back, and a kernel of some ten
  // kilobytes is read in a few calls.
  if (content == Content::code) connection.execute("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA page_size = 16384");
  Transaction transaction(connection);
  if (is_made(connection, content)) return;  // another process was first
  for (const Object& object : objects_of(content)) connection.execute(object.sql);
  connection.execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", application_id(content), schema_version));
  transaction.commit();
}

void check_schema(Connection& connection, Content content) {
  const Transaction one_state(connection, Transaction::Lock::shared);
  if (!is_made(connection, content)) refuse(connection, Failure::damaged, "it is empty");
}

}  // namespace vostok::cache
