#include "cache/database.hpp"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace vostok::cache {

namespace {

Failure meaning(int result) {
  switch (result & 0xff) {  // the primary code of an extended one
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return Failure::busy;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return Failure::damaged;
    case SQLITE_FULL: return Failure::full;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN: return Failure::unwritable;
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG: return Failure::refused;
    default: return Failure::other;
  }
}

[[noreturn]] void fail_with(sqlite3* database, int result, std::string_view verb, std::string_view object) {
  const char* reason = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(result);
  throw DatabaseError(meaning(result), fmt::format("cannot {} {}: {} (SQLite {})", verb, object, reason, result));
}

std::string file_of(sqlite3* database) {
  const char* path = sqlite3_db_filename(database, "main");
  return path != nullptr && *path != '\0' ? path : "a database in memory";
}

/// "file:" URI: the only way to say immutable.
std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char byte : path) {
    if (byte == '%' || byte == '?' || byte == '#') uri += fmt::format("%{:02X}", static_cast<unsigned>(byte));
    else uri += byte;
  }
  return uri + "?mode=ro&immutable=1";
}

/// Opening a pipe would wait for its other end, reading a device never end.
void refuse_what_is_no_file(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw DatabaseError(Failure::unwritable, fmt::format("cannot open {}: it is no regular file", path.string()));
}

}  // namespace

/// The busy handler's state: waits grow and are jittered, so that processes that met once do not meet again in step.
struct Connection::Patience {
  explicit Patience(int limit_ms)
      : limit(limit_ms),
        random(static_cast<std::minstd_rand::result_type>(getpid()) ^
               static_cast<std::minstd_rand::result_type>(reinterpret_cast<std::uintptr_t>(this))) {}

  bool wait(int attempt) {
    using Clock = std::chrono::steady_clock;
    if (attempt == 0) since = Clock::now();
    if (Clock::now() - since >= limit) return false;
    constexpr int longest_us = 20000;
    const int ceiling_us = std::min(longest_us, 200 * (attempt + 1));
    std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution(50, ceiling_us)(random)));
    return true;
  }

  std::chrono::milliseconds limit;
  std::chrono::steady_clock::time_point since;
  std::minstd_rand random;
};

void Statement::Reset::operator()(sqlite3_stmt* prepared) const noexcept {
  sqlite3_reset(prepared);
  sqlite3_clear_bindings(prepared);
}

void Statement::fail() const {
  sqlite3* database = sqlite3_db_handle(prepared_.get());
  fail_with(database, sqlite3_extended_errcode(database), "use", file_of(database));
}

void Statement::check(int result) const {
  if (result != SQLITE_OK) fail();
}

void Statement::bind(int position, std::int64_t value) { check(sqlite3_bind_int64(prepared_.get(), position, value)); }

void Statement::bind(int position, double value) { check(sqlite3_bind_double(prepared_.get(), position, value)); }

void Statement::bind(int position, std::string_view text) {
  check(sqlite3_bind_text64(prepared_.get(), position, text.data() != nullptr ? text.data() : "", text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::bind(int position, Blob value) {
  check(sqlite3_bind_blob64(prepared_.get(), position, value.bytes.empty() ? "" : value.bytes.data(), value.bytes.size(), SQLITE_TRANSIENT));
}

void Statement::bind(int position, const std::optional<double>& value) {
  if (value) bind(position, *value);
  else check(sqlite3_bind_null(prepared_.get(), position));
}

bool Statement::step() {
  const int result = sqlite3_step(prepared_.get());
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) fail();
  return false;
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(prepared_.get(), column); }

double Statement::real(int column) const { return sqlite3_column_double(prepared_.get(), column); }

std::optional<double> Statement::optional_real(int column) const {
  if (sqlite3_column_type(prepared_.get(), column) == SQLITE_NULL) return std::nullopt;
  return real(column);
}

std::string Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(prepared_.get(), column);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_column_bytes(prepared_.get(), column))};
}

void Connection::Close::operator()(sqlite3* database) const noexcept { sqlite3_close(database); }

void Connection::Finalize::operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }

Connection::Connection(const std::filesystem::path& path, Access access, int lock_timeout_ms)
    : patience_(std::make_unique<Patience>(lock_timeout_ms)) {
  const std::string name = access == Access::immutable ? immutable_uri(path.string()) : path.string();
  const int flags = access == Access::read_write  ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                    : access == Access::immutable ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
                                                  : SQLITE_OPEN_READONLY;
  refuse_what_is_no_file(path);
  sqlite3* opened = nullptr;
  const int result = sqlite3_open_v2(name.c_str(), &opened, flags, nullptr);
  database_.reset(opened);
  if (result != SQLITE_OK) fail_with(opened, result, "open", path.string());
  sqlite3_extended_result_codes(opened, 1);
  sqlite3_busy_handler(
      opened, [](void* patience, int attempt) { return static_cast<int>(static_cast<Patience*>(patience)->wait(attempt)); }, patience_.get());
  // Files may come from elsewhere: nothing in their schema runs. No temporary files either.
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  execute("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0");
  // Never a write-ahead log: it fails on network file systems, and SQLite before 3.51.3 can corrupt a file when it resets one.
  if (access == Access::read_write) execute("PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL");
}

Connection::~Connection() = default;

void Connection::execute(const std::string& sql) {
  const int result = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) fail_with(database_.get(), result, "use", file_of(database_.get()));
}

sqlite3_stmt* Connection::prepare(std::string_view sql) {
  const auto known = prepared_.find(sql);
  if (known != prepared_.end()) return known->second.get();
  sqlite3_stmt* prepared = nullptr;
  const int result = sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
  if (result != SQLITE_OK) fail_with(database_.get(), result, "read", file_of(database_.get()));
  prepared_[std::string(sql)].reset(prepared);
  return prepared;
}

std::int64_t Connection::last_row() const { return sqlite3_last_insert_rowid(database_.get()); }

std::int64_t Connection::changed_rows() const { return sqlite3_changes64(database_.get()); }

Connection::Connection(std::string bytes) : Connection(":memory:", Access::read_only, 0) {
  bytes_ = std::move(bytes);
  // The header's two versions say whether there is a write-ahead log, which memory cannot have. What it held is not part of these bytes.
  constexpr std::size_t header_bytes = 100;
  constexpr std::size_t versions = 18;
  if (bytes_.size() >= header_bytes)
    for (const std::size_t i : {versions, versions + 1})
      if (bytes_[i] == 2) bytes_[i] = 1;
  const auto size = static_cast<sqlite3_int64>(bytes_.size());
  const int result =
      sqlite3_deserialize(database_.get(), "main", reinterpret_cast<unsigned char*>(bytes_.data()), size, size, SQLITE_DESERIALIZE_READONLY);
  if (result != SQLITE_OK) fail_with(database_.get(), result, "open", "a database in memory");
}

Transaction::Transaction(Connection& connection, Lock lock) : connection_(connection) {
  connection_.execute(lock == Lock::immediate ? "BEGIN IMMEDIATE" : "BEGIN");
}

void Transaction::commit() {
  connection_.execute("COMMIT");
  open_ = false;
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    connection_.execute("ROLLBACK");
  } catch (...) {  // some failures (disk full, input/output) have rolled back already
  }
}

}  // namespace vostok::cache
