// What a file system of SQLite that wraps the system's passes on.
#pragma once

#include <sqlite3.h>

namespace vostok::cache::testing {

/// The file system that is wrapped.
inline sqlite3_vfs* system_files() {
  static sqlite3_vfs* const found = sqlite3_vfs_find("unix");
  return found;
}

/// Every operation as the system's file does it, where `Real(file)` is the system's file behind a wrapped one.
template <sqlite3_file* (*Real)(sqlite3_file*)>
sqlite3_io_methods passed_on() {
  return {
      .iVersion = 1,
      .xClose = [](sqlite3_file* file) { return Real(file)->pMethods->xClose(Real(file)); },
      .xRead = [](sqlite3_file* file, void* bytes, int count,
                  sqlite3_int64 offset) { return Real(file)->pMethods->xRead(Real(file), bytes, count, offset); },
      .xWrite = [](sqlite3_file* file, const void* bytes, int count,
                   sqlite3_int64 offset) { return Real(file)->pMethods->xWrite(Real(file), bytes, count, offset); },
      .xTruncate = [](sqlite3_file* file,
                      sqlite3_int64 size) { return Real(file)->pMethods->xTruncate(Real(file), size); },
      .xSync = [](sqlite3_file* file, int flags) { return Real(file)->pMethods->xSync(Real(file), flags); },
      .xFileSize = [](sqlite3_file* file,
                      sqlite3_int64* size) { return Real(file)->pMethods->xFileSize(Real(file), size); },
      .xLock = [](sqlite3_file* file, int lock) { return Real(file)->pMethods->xLock(Real(file), lock); },
      .xUnlock = [](sqlite3_file* file, int lock) { return Real(file)->pMethods->xUnlock(Real(file), lock); },
      .xCheckReservedLock = [](sqlite3_file* file,
                               int* locked) { return Real(file)->pMethods->xCheckReservedLock(Real(file), locked); },
      .xFileControl =
          [](sqlite3_file* file, int operation, void* argument) {
            return Real(file)->pMethods->xFileControl(Real(file), operation, argument);
          },
      .xSectorSize = [](sqlite3_file* file) { return Real(file)->pMethods->xSectorSize(Real(file)); },
      .xDeviceCharacteristics =
          [](sqlite3_file* file) { return Real(file)->pMethods->xDeviceCharacteristics(Real(file)); },
      .xShmMap = nullptr,
      .xShmLock = nullptr,
      .xShmBarrier = nullptr,
      .xShmUnmap = nullptr,
      .xFetch = nullptr,
      .xUnfetch = nullptr};
}

}  // namespace vostok::cache::testing
