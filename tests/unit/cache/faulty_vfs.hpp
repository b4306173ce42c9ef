// SQLite's file system with faults: the n-th operation that changes a file fails. Nothing is flushed to the disk, which
// keeps tests fast.
#pragma once

#include <sqlite3.h>

#include "unit/cache/passed_on.hpp"

namespace vostok::cache::testing {

/// While it lives, connections that are opened use it.
class FaultyFiles {
 public:
  FaultyFiles() {
    vfs() = *system_files();
    vfs().zName = "vostok-faulty";
    vfs().szOsFile = static_cast<int>(sizeof(File)) + system_files()->szOsFile;
    vfs().xOpen = open;
    vfs().xDelete = remove;
    sqlite3_vfs_register(&vfs(), 1);
  }
  ~FaultyFiles() {
    sqlite3_vfs_unregister(&vfs());
    sqlite3_vfs_register(system_files(), 1);
    plan() = {};
  }
  FaultyFiles(const FaultyFiles&) = delete;
  FaultyFiles& operator=(const FaultyFiles&) = delete;

  /// After `operations` good ones, the next fails with `code`; with `for_good`, all later ones too.
  void fail_after(int operations, int code, bool for_good) {
    plan() = {.left = operations, .code = code, .for_good = for_good};
  }
  void heal() { plan().armed = false; }
  bool has_failed() const { return plan().failed; }

 private:
  struct Plan {
    int left = 0;
    int code = SQLITE_OK;
    bool for_good = false;
    bool armed = true;
    bool failed = false;
  };

  struct File {
    sqlite3_file base;
    sqlite3_file* real;
  };

  static Plan& plan() {
    static Plan the_plan = {.armed = false};
    return the_plan;
  }
  static sqlite3_vfs& vfs() {
    static sqlite3_vfs faulty = {};
    return faulty;
  }
  static sqlite3_file* real(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real; }

  /// SQLITE_OK, or what the operation fails with.
  static int next() {
    Plan& p = plan();
    if (!p.armed || (p.failed && !p.for_good)) return SQLITE_OK;
    if (!p.failed && p.left-- > 0) return SQLITE_OK;
    p.failed = true;
    return p.code;
  }

  static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* flags_out) {
    auto* mine = reinterpret_cast<File*>(file);
    mine->base.pMethods = nullptr;
    mine->real = reinterpret_cast<sqlite3_file*>(mine + 1);
    const bool makes = (flags & SQLITE_OPEN_CREATE) != 0;
    if (makes && next() != SQLITE_OK) return SQLITE_CANTOPEN;
    const int result = system_files()->xOpen(system_files(), name, mine->real, flags, flags_out);
    if (result == SQLITE_OK) mine->base.pMethods = &methods();
    return result;
  }
  static int remove(sqlite3_vfs*, const char* name, int) {
    return next() == SQLITE_OK ? system_files()->xDelete(system_files(), name, 0) : SQLITE_IOERR_DELETE;
  }
  static int write(sqlite3_file* file, const void* bytes, int count, sqlite3_int64 offset) {
    const int fault = next();
    if (fault == SQLITE_OK) return real(file)->pMethods->xWrite(real(file), bytes, count, offset);
    real(file)->pMethods->xWrite(real(file), bytes, count / 2, offset);  // a part of it arrived
    return fault;
  }
  static int sync(sqlite3_file*, int) { return next() == SQLITE_OK ? SQLITE_OK : SQLITE_IOERR_FSYNC; }
  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    return next() == SQLITE_OK ? real(file)->pMethods->xTruncate(real(file), size) : SQLITE_IOERR_TRUNCATE;
  }

  static const sqlite3_io_methods& methods() {
    static const sqlite3_io_methods wrapped = [] {
      sqlite3_io_methods all = passed_on<real>();
      all.xWrite = write;
      all.xTruncate = truncate;
      all.xSync = sync;
      return all;
    }();
    return wrapped;
  }
};

}  // namespace vostok::cache::testing
