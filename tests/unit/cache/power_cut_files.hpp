// SQLite's file system on a machine that loses its power: what was written and not yet flushed arrives in parts, or not
// at all.
#pragma once

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "unit/cache/passed_on.hpp"

namespace vostok::cache::testing {

/// While it lives, connections that are opened use it. A disk here is what survives a cut; files hold what the system
/// would still show. The order in which a system writes back is not known, so each write, and each making and unlinking
/// of a file, survives or not by a throw of dice.
class PowerCutFiles {
 public:
  explicit PowerCutFiles(unsigned seed) : random_(seed) {
    vfs_ = *system_files();
    vfs_.zName = "vostok-power-cut";
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + system_files()->szOsFile;
    vfs_.pAppData = this;
    vfs_.xOpen = open;
    vfs_.xDelete = remove;
    sqlite3_vfs_register(&vfs_, 1);
  }
  ~PowerCutFiles() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(system_files(), 1);
  }
  PowerCutFiles(const PowerCutFiles&) = delete;
  PowerCutFiles& operator=(const PowerCutFiles&) = delete;

  /// After so many operations the power is gone: all later ones fail.
  void cut_after(int operations) { left_ = operations; }
  bool was_cut() const { return is_cut_; }

  /// What is found when the power is back. No connection may be open.
  void restore() {
    for (auto& [path, disk] : disks_) {
      if (!disk.is_named && coin())
        disk.is_there = !disk.is_there;  // being made, or unlinked, has not reached the folder
      for (const Write& write : disk.pending)
        if (coin()) write.apply(disk.bytes);
      std::filesystem::remove(path);
      if (disk.is_there) std::ofstream(path, std::ios::binary) << disk.bytes;
    }
    disks_.clear();
    left_ = -1;
    is_cut_ = false;
  }

 private:
  /// Bytes at an offset, or another length.
  struct Write {
    std::size_t offset = 0;
    std::string bytes = {};
    std::optional<std::size_t> length = {};

    void apply(std::string& file) const {
      if (length) return file.resize(*length);
      file.resize(std::max(file.size(), offset + bytes.size()));
      std::copy(bytes.begin(), bytes.end(), file.begin() + static_cast<std::ptrdiff_t>(offset));
    }
  };
  struct Disk {
    std::string bytes = {};
    std::vector<Write> pending = {};
    bool is_there = true;
    bool is_named = true;  ///< whether its being made, or unlinked, was flushed
  };
  struct File {
    sqlite3_file base;
    PowerCutFiles* files;
    std::string* path;
    sqlite3_file* real;
  };

  static File& mine(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
  static sqlite3_file* real(sqlite3_file* file) { return mine(file).real; }

  bool coin() { return std::bernoulli_distribution()(random_); }

  bool has_power() {
    if (left_ == 0) is_cut_ = true;
    if (left_ > 0) --left_;
    return !is_cut_;
  }

  /// The disk below a file, as it is when the file is first touched.
  Disk& disk(const std::string& path) {
    const auto known = disks_.find(path);
    if (known != disks_.end()) return known->second;
    Disk fresh{.is_there = std::filesystem::exists(path)};
    std::ifstream file(path, std::ios::binary);
    fresh.bytes.assign(std::istreambuf_iterator<char>(file), {});
    return disks_[path] = std::move(fresh);
  }

  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* flags_out) {
    auto* const files = static_cast<PowerCutFiles*>(vfs->pAppData);
    File& opened = mine(file);
    opened = {.base = {.pMethods = nullptr},
              .files = files,
              .path = nullptr,
              .real = reinterpret_cast<sqlite3_file*>(&opened + 1)};
    if (name == nullptr) return SQLITE_CANTOPEN;  // a temporary file: there is no place for any
    Disk& disk = files->disk(name);
    const bool makes = (flags & SQLITE_OPEN_CREATE) != 0 && !std::filesystem::exists(name);
    if (makes && !files->has_power()) return SQLITE_CANTOPEN;
    const int result = system_files()->xOpen(system_files(), name, opened.real, flags, flags_out);
    if (result != SQLITE_OK) return result;
    if (makes) disk = {.is_named = false};
    opened.path = new std::string(name);
    opened.base.pMethods = &methods();
    return SQLITE_OK;
  }
  static int close(sqlite3_file* file) {
    delete mine(file).path;
    return real(file)->pMethods->xClose(real(file));
  }
  static int remove(sqlite3_vfs* vfs, const char* name, int flush_folder) {
    auto* const files = static_cast<PowerCutFiles*>(vfs->pAppData);
    Disk& disk = files->disk(name);
    if (!files->has_power()) return SQLITE_IOERR_DELETE;
    disk.is_there = false;
    disk.is_named = flush_folder != 0;
    return system_files()->xDelete(system_files(), name, 0);
  }
  static int write(sqlite3_file* file, const void* bytes, int count, sqlite3_int64 offset) {
    PowerCutFiles& files = *mine(file).files;
    const bool arrives = files.has_power();
    files.disk(*mine(file).path)
        .pending.push_back({.offset = static_cast<std::size_t>(offset),
                            .bytes = std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(count))});
    if (!arrives) return SQLITE_IOERR_WRITE;
    return real(file)->pMethods->xWrite(real(file), bytes, count, offset);
  }
  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    PowerCutFiles& files = *mine(file).files;
    if (!files.has_power()) return SQLITE_IOERR_TRUNCATE;
    files.disk(*mine(file).path).pending.push_back({.length = static_cast<std::size_t>(size)});
    return real(file)->pMethods->xTruncate(real(file), size);
  }
  /// The file's bytes, and with those of a new journal the folder, as SQLite does.
  static int sync(sqlite3_file* file, int) {
    PowerCutFiles& files = *mine(file).files;
    if (!files.has_power()) return SQLITE_IOERR_FSYNC;
    Disk& disk = files.disk(*mine(file).path);
    for (const Write& write : disk.pending) write.apply(disk.bytes);
    disk.pending.clear();
    if (!disk.is_named && mine(file).path->ends_with("-journal"))
      for (auto& [path, entry] : files.disks_) entry.is_named = true;
    return SQLITE_OK;
  }

  static const sqlite3_io_methods& methods() {
    static const sqlite3_io_methods wrapped = [] {
      sqlite3_io_methods all = passed_on<real>();
      all.xClose = close;
      all.xWrite = write;
      all.xTruncate = truncate;
      all.xSync = sync;
      all.xDeviceCharacteristics = [](sqlite3_file*) {
        return 0;
      };  // no promise: not that writes are whole, not that they keep their order
      return all;
    }();
    return wrapped;
  }

  sqlite3_vfs vfs_ = {};
  std::minstd_rand random_;
  std::map<std::string, Disk> disks_;
  int left_ = -1;
  bool is_cut_ = false;
};

}  // namespace vostok::cache::testing
