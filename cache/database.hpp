// SQLite behind handles: a connection with its prepared statements, a statement in use, a transaction.
// SQLite's own header stays in database.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <vostok/error.hpp>

#include "cache/allowance.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace vostok::cache {

/// The meaning of a failed call for the file.
enum class Failure {
  busy,          ///< locked by another connection past the time-out
  damaged,       ///< malformed, or not a database
  newer_schema,  ///< made by a newer version of the library
  full,          ///< no space left
  unwritable,    ///< read-only, not permitted, cannot be opened
  refused,       ///< this row broke a constraint; the file is fine
  other          ///< input or output failed
};

/// How long a command waits for another process that holds a file. It works on few files, and only its user waits for
/// it.
constexpr int tool_lock_timeout_ms = 10000;

/// Any failure of the cache's files. It never leaves a store.
class DatabaseError : public Error {
 public:
  DatabaseError(Failure failure, const std::string& message)
      : Error(ErrorCode::io_failure, message), failure_(failure) {}
  Failure failure() const noexcept { return failure_; }

 private:
  Failure failure_;
};

enum class Access {
  read_write,  ///< made if it is not there
  read_only,
  immutable  ///< read without locks: only for files that nobody is writing
};

/// Bytes, as opposed to text.
struct Blob {
  std::string_view bytes;
};

/// A prepared statement in use; the destructor resets it, so that it holds no lock.
class Statement {
 public:
  Statement(sqlite3_stmt* prepared, Allowance& allowance) : prepared_(prepared), allowance_(&allowance) {}

  void bind(int position, std::int64_t value);
  void bind(int position, int value) { bind(position, static_cast<std::int64_t>(value)); }
  void bind(int position, bool value) { bind(position, static_cast<std::int64_t>(value)); }
  void bind(int position, double value);
  void bind(int position, std::string_view text);
  void bind(int position, const std::string& text) { bind(position, std::string_view(text)); }
  void bind(int position, const char* text) { bind(position, std::string_view(text)); }
  void bind(int position, Blob value);
  void bind(int position, const std::optional<double>& value);  ///< NULL if absent

  /// Whether there is a (next) row. Errors: DatabaseError; damaged if the file returns more than its size allows.
  bool step();

  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::optional<double> optional_real(int column) const;
  std::string text(int column) const;  ///< also of a blob

 private:
  void check(int result) const;

  struct Reset {
    void operator()(sqlite3_stmt* prepared) const noexcept;
  };
  std::unique_ptr<sqlite3_stmt, Reset> prepared_;
  Allowance* allowance_;
  mutable std::int64_t read_bytes_ = 0;  // by text() and step()
};

/// One open file. Not thread-safe, and not for use in a child process (see PerProcess).
class Connection {
 public:
  /// Waits up to `lock_timeout_ms` for each lock, in jittered steps. Whatever the file contains, nothing in its schema
  /// runs, and no statement exceeds its Allowance.
  Connection(const std::filesystem::path& path, Access access, int lock_timeout_ms);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  /// Opens the bytes of a file called `name` in memory: files beside it, and later changes to it, do not matter.
  Connection(std::string bytes, const std::string& name);

  /// Executes any number of statements without parameters.
  void execute(const std::string& sql);

  /// A statement, prepared once per connection. Only one use of the same text at a time.
  template <class... Values>
  Statement query(std::string_view sql, const Values&... values) {
    Statement statement(prepare(sql), *allowance_);
    int position = 0;  // NOLINT(misc-const-correctness): it grows where there are values
    (statement.bind(++position, values), ...);
    return statement;
  }

  /// Runs a query to its end.
  template <class... Values>
  void run(std::string_view sql, const Values&... values) {
    Statement statement = query(sql, values...);
    while (statement.step()) {
    }
  }

  /// The first column of the first row; 0 if there is none.
  template <class... Values>
  std::int64_t number(std::string_view sql, const Values&... values) {
    Statement statement = query(sql, values...);
    return statement.step() ? statement.integer(0) : 0;
  }

  /// Limits the size of a text or blob. A longer one in the file is damage; a longer one to be stored is refused.
  void limit_values(int bytes);
  /// Limits the time of one statement.
  void limit_statements(std::chrono::milliseconds limit) { allowance_->set_limit(limit); }
  const std::string& name() const { return allowance_->name(); }  ///< of the file, for messages

  std::int64_t last_row() const;      ///< rowid of the last insert
  std::int64_t changed_rows() const;  ///< by the last statement

 private:
  struct Patience;
  struct Close {
    void operator()(sqlite3* database) const noexcept;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept;
  };
  void open(const std::string& name, int flags);
  void restrain();
  [[noreturn]] void fail(int result, std::string_view verb) const;
  sqlite3_stmt* prepare(std::string_view sql);

  std::unique_ptr<Allowance> allowance_;
  std::unique_ptr<Patience> patience_;
  std::string bytes_;  // outlives the database that reads it
  std::unique_ptr<sqlite3, Close> database_;
  std::map<std::string, std::unique_ptr<sqlite3_stmt, Finalize>, std::less<>>
      prepared_;  // finalised before the database closes
};

/// Rolls back unless committed.
class Transaction {
 public:
  enum class Lock {
    shared,    ///< all reads see one state of the file
    immediate  ///< the write lock is taken here or not at all
  };
  explicit Transaction(Connection& connection, Lock lock = Lock::immediate);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Connection& connection_;
  bool open_ = true;
};

}  // namespace vostok::cache
