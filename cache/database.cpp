#include "cache/database.hpp"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <random>
#include <system_error>
#include <thread>
#include <utility>

#include "base/printable.hpp"
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

/// Throws for a failed call. SQLite's reason can contain names that the file has given its tables.
[[noreturn]] void fail_with(sqlite3* database, int result, Failure failure, std::string_view verb,
                            const Allowance& allowance) {
  if ((result & 0xff) == SQLITE_INTERRUPT) allowance.fail();
  const char* reason = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(result);
  throw DatabaseError(failure,
                      fmt::format("cannot {} {}: {} (SQLite {})", verb, allowance.name(), printable(reason), result));
}

std::unique_ptr<Allowance> allowance_of(const std::filesystem::path& path) {
  if (path == ":memory:") return std::make_unique<Allowance>("a database in memory", nullptr);
  // Absolute: the application may change its current folder while the file is open.
  std::error_code ignored;
  const auto absolute = std::filesystem::absolute(path, ignored);
  return std::make_unique<Allowance>(path.string(), [absolute]() -> std::int64_t {
    std::error_code unknown;
    const auto bytes = std::filesystem::file_size(absolute, unknown);
    return unknown ? 0 : static_cast<std::int64_t>(bytes);
  });
}

/// A "file:" URI, the only way to open a file as immutable.
std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char byte : path) {
    if (byte == '%' || byte == '?' || byte == '#') uri += fmt::format("%{:02X}", static_cast<unsigned>(byte));
    else uri += byte;
  }
  return uri + "?mode=ro&immutable=1";
}

/// Rejects anything but a regular file: opening a pipe would wait for its other end, and reading a device may never
/// end.
void refuse_what_is_no_file(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw DatabaseError(Failure::unwritable, fmt::format("cannot open {}: it is no regular file", path.string()));
}

}  // namespace

/// The busy handler's state. Waits grow and are jittered, so that processes that collided once do not collide again in
/// step.
struct Connection::Patience {
  Patience(int limit_ms, Allowance& statement)
      : limit(limit_ms),
        allowance(statement),
        random(static_cast<std::minstd_rand::result_type>(getpid()) ^
               static_cast<std::minstd_rand::result_type>(reinterpret_cast<std::uintptr_t>(this))) {}

  bool wait(int attempt) {
    using Clock = std::chrono::steady_clock;
    if (attempt == 0) since = Clock::now();
    if (Clock::now() - since >= limit) return false;
    constexpr int longest_us = 20000;
    const int ceiling_us = std::min(longest_us, 200 * (attempt + 1));
    std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution(50, ceiling_us)(random)));
    allowance.begin();
    return true;
  }

  std::chrono::milliseconds limit;
  Allowance& allowance;
  std::chrono::steady_clock::time_point since;
  std::minstd_rand random;
};

void Statement::Reset::operator()(sqlite3_stmt* prepared) const noexcept {
  sqlite3_reset(prepared);
  sqlite3_clear_bindings(prepared);
}

void Statement::check(int result) const {
  if (result != SQLITE_OK) fail_with(sqlite3_db_handle(prepared_.get()), result, meaning(result), "use", *allowance_);
}

void Statement::bind(int position, std::int64_t value) { check(sqlite3_bind_int64(prepared_.get(), position, value)); }

void Statement::bind(int position, double value) { check(sqlite3_bind_double(prepared_.get(), position, value)); }

void Statement::bind(int position, std::string_view text) {
  check(sqlite3_bind_text64(prepared_.get(), position, text.data() != nullptr ? text.data() : "", text.size(),
                            SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::bind(int position, Blob value) {
  check(sqlite3_bind_blob64(prepared_.get(), position, value.bytes.empty() ? "" : value.bytes.data(),
                            value.bytes.size(), SQLITE_TRANSIENT));
}

void Statement::bind(int position, const std::optional<double>& value) {
  if (value) bind(position, *value);
  else check(sqlite3_bind_null(prepared_.get(), position));
}

bool Statement::step() {
  const int result = sqlite3_step(prepared_.get());
  // A value that is too long is refused when written, so one in the file was not written by this library.
  const bool is_damage = result == SQLITE_TOOBIG && sqlite3_stmt_readonly(prepared_.get()) != 0;
  if (result != SQLITE_ROW && result != SQLITE_DONE)
    fail_with(sqlite3_db_handle(prepared_.get()), result, is_damage ? Failure::damaged : meaning(result), "use",
              *allowance_);
  constexpr std::int64_t bytes_of_a_row = 512;  // rough cost of what the caller makes of a row, besides its texts
  read_bytes_ += bytes_of_a_row;
  allowance_->check_read(read_bytes_);
  return result == SQLITE_ROW;
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(prepared_.get(), column); }

double Statement::real(int column) const { return sqlite3_column_double(prepared_.get(), column); }

bool Statement::is_null(int column) const { return sqlite3_column_type(prepared_.get(), column) == SQLITE_NULL; }

std::optional<double> Statement::optional_real(int column) const {
  if (is_null(column)) return std::nullopt;
  return real(column);
}

std::string Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(prepared_.get(), column);
  if (bytes == nullptr) return {};
  const int count = sqlite3_column_bytes(prepared_.get(), column);
  read_bytes_ += count;
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(count)};
}

void Connection::Close::operator()(sqlite3* database) const noexcept { sqlite3_close(database); }

void Connection::Finalize::operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }

Connection::Connection(const std::filesystem::path& path, Access access, int lock_timeout_ms)
    : allowance_(allowance_of(path)), patience_(std::make_unique<Patience>(lock_timeout_ms, *allowance_)) {
  const std::string name = access == Access::immutable ? immutable_uri(path.string()) : path.string();
  const int flags = access == Access::read_write  ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                    : access == Access::immutable ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
                                                  : SQLITE_OPEN_READONLY;
  refuse_what_is_no_file(path);
  open(name, flags);
  // Never a write-ahead log: it fails on network file systems, and SQLite before 3.51.3 can corrupt a file when it
  // resets one.
  if (access == Access::read_write) execute("PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL");
}

void Connection::open(const std::string& name, int flags) {
  sqlite3* opened = nullptr;
  const int result = sqlite3_open_v2(name.c_str(), &opened, flags, nullptr);
  database_.reset(opened);
  if (result != SQLITE_OK) fail(result, "open");
  restrain();
}

/// Limits what a file from elsewhere can do: nothing in its schema runs, and nothing in it takes unlimited time or
/// memory.
void Connection::restrain() {
  sqlite3* database = database_.get();
  sqlite3_extended_result_codes(database, 1);
  sqlite3_busy_handler(
      database,
      [](void* patience, int attempt) { return static_cast<int>(static_cast<Patience*>(patience)->wait(attempt)); },
      patience_.get());
  sqlite3_progress_handler(
      database, Allowance::steps_at_once,
      [](void* allowance) { return static_cast<int>(!static_cast<Allowance*>(allowance)->step()); }, allowance_.get());
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  // Limits far above what the library's own statements need. One database may be attached, for VACUUM.
  constexpr std::pair<int, int> limits[] = {
      {SQLITE_LIMIT_LENGTH, 64 << 20}, {SQLITE_LIMIT_SQL_LENGTH, 1 << 16}, {SQLITE_LIMIT_COLUMN, 100},
      {SQLITE_LIMIT_EXPR_DEPTH, 100},  {SQLITE_LIMIT_COMPOUND_SELECT, 10}, {SQLITE_LIMIT_VDBE_OP, 100000},
      {SQLITE_LIMIT_FUNCTION_ARG, 10}, {SQLITE_LIMIT_ATTACHED, 1},         {SQLITE_LIMIT_VARIABLE_NUMBER, 100},
      {SQLITE_LIMIT_TRIGGER_DEPTH, 1}, {SQLITE_LIMIT_WORKER_THREADS, 0}};
  for (const auto& [what, most] : limits) sqlite3_limit(database, what, most);
  // No temporary files either.
  execute("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0");
}

/// Reports a failed call. A text that is too long is the file's schema, since the library's own statements are short.
void Connection::fail(int result, std::string_view verb) const {
  fail_with(database_.get(), result, result == SQLITE_TOOBIG ? Failure::damaged : meaning(result), verb, *allowance_);
}

void Connection::limit_values(int bytes) { sqlite3_limit(database_.get(), SQLITE_LIMIT_LENGTH, bytes); }

Connection::~Connection() = default;

void Connection::execute(const std::string& sql) {
  allowance_->begin();
  const int result = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) fail(result, "use");
}

sqlite3_stmt* Connection::prepare(std::string_view sql) {
  allowance_->begin();
  const auto known = prepared_.find(sql);
  if (known != prepared_.end()) return known->second.get();
  sqlite3_stmt* prepared = nullptr;
  const int result = sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
  if (result != SQLITE_OK) fail(result, "read");
  prepared_[std::string(sql)].reset(prepared);
  return prepared;
}

std::int64_t Connection::last_row() const { return sqlite3_last_insert_rowid(database_.get()); }

std::int64_t Connection::changed_rows() const { return sqlite3_changes64(database_.get()); }

Connection::Connection(std::string bytes, const std::string& name)
    : allowance_(std::make_unique<Allowance>(name, [size = std::ssize(bytes)]() -> std::int64_t { return size; })),
      patience_(std::make_unique<Patience>(0, *allowance_)),
      bytes_(std::move(bytes)) {
  open(":memory:", SQLITE_OPEN_READONLY);
  // The header's two version bytes say whether there is a write-ahead log, which memory cannot have. Its content
  // is not part of these bytes.
  constexpr std::size_t header_bytes = 100;
  constexpr std::size_t versions = 18;
  if (bytes_.size() >= header_bytes)
    for (const std::size_t i : {versions, versions + 1})
      if (bytes_[i] == 2) bytes_[i] = 1;
  const auto size = static_cast<sqlite3_int64>(bytes_.size());
  const int result = sqlite3_deserialize(database_.get(), "main", reinterpret_cast<unsigned char*>(bytes_.data()), size,
                                         size, SQLITE_DESERIALIZE_READONLY);
  if (result != SQLITE_OK) fail(result, "open");
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
