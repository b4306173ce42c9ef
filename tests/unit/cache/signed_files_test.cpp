// What is checked is what is read: logs beside signed files, files exchanged or changed, what is no file or has no end.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "cache/code_rows.hpp"
#include "cache/layer_file.hpp"
#include "cache/signature.hpp"
#include "cache/summary.hpp"
#include "error_code.hpp"
#include "unit/cache/fixture.hpp"

using namespace vostok;
using namespace vostok::cache;
using namespace vostok::cache::testing;
namespace fs = std::filesystem;

namespace {

/// Ends the test where something waits for ever.
struct NoHang {
  NoHang() { alarm(120); }
  ~NoHang() { alarm(0); }
  NoHang(const NoHang&) = delete;
  NoHang& operator=(const NoHang&) = delete;
};

/// A signed code.db with a small and a large kernel, in a folder of its own.
struct SignedFile {
  TemporaryFolder folder;
  SigningKey key = make_signing_key();
  fs::path file = folder / "layer/code.db";

  SignedFile() {
    Opening opening(in_folder(folder / "layer"));
    opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner());
    opening.code().put(sample_entry("key"), sample_image());
    opening.code().put(sample_entry("second"), sample_image(200000));
    sign_file(file, key);
  }

  CacheOptions options(bool as_shipped = false) const {
    auto options = in_folder(folder / "user");
    if (as_shipped) options.shipped = folder / "layer";
    else options.read_only = {folder / "layer"};
    options.trusted_keys = {key.public_key.hex};
    return options;
  }

  /// The same file with one more kernel, that nobody signed.
  fs::path forged() const {
    const fs::path forged = folder / "forged.db";
    if (!fs::exists(forged)) {
      fs::copy_file(file, forged);
      Connection connection(forged, Access::read_write, 1000);
      store_code(connection, sample_entry("foreign"), sample_image(), 0, std::int64_t{1} << 30);
    }
    return forged;
  }
};

std::vector<std::string> faults(const SignedFile& signed_file) {
  return faults_of(signed_file.file, {signed_file.key.public_key});
}

/// Makes FILE-wal and FILE-shm as a program leaves them that writes a copy of the file in that mode, adds a kernel, and
/// is still there.
std::unique_ptr<Connection> write_log(const fs::path& file, const fs::path& copy) {
  fs::copy_file(file, copy);
  auto writer = std::make_unique<Connection>(copy, Access::read_write, 1000);
  writer->execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0");
  store_code(*writer, sample_entry("foreign"), sample_image(), 0, std::int64_t{1} << 30);
  for (const char* end : {"-wal", "-shm"}) fs::copy_file(copy.string() + end, file.string() + end);
  return writer;
}

bool has_kernel(const fs::path& file, const std::string& key) {
  Connection connection(file, Access::read_only, 1000);
  return code_row(connection, key).has_value();
}

}  // namespace

TEST_CASE("a log beside a signed file is not read") {
  const SignedFile signed_file;
  const auto writer = write_log(signed_file.file, signed_file.folder / "copy.db");
  REQUIRE(has_kernel(signed_file.file, "foreign"));  // so SQLite would read it
  const std::string log = contents(signed_file.file.string() + "-wal");
  for (const bool as_shipped : {false, true}) {
    CAPTURE(as_shipped);
    Opening opening(signed_file.options(as_shipped));
    CHECK(opening.code().find("key").has_value());
    CHECK_FALSE(opening.code().find("foreign").has_value());
    CHECK(*opening.warnings == 0);
  }
  CHECK(faults(signed_file).empty());
  CHECK(contents(signed_file.file.string() + "-wal") == log);
}

TEST_CASE("a signed file whose header promises a log is read without one") {
  const SignedFile signed_file;
  Connection(signed_file.file, Access::read_write, 1000).execute("PRAGMA journal_mode = WAL");
  sign_file(signed_file.file, signed_file.key);
  REQUIRE(contents(signed_file.file)[18] == 2);
  for (const char* end : {"-wal", "-shm"}) fs::remove(signed_file.file.string() + end);
  Opening opening(signed_file.options());
  CHECK(opening.code().find("key").has_value());
  CHECK(opening.code().find("second").has_value());
  CHECK(faults(signed_file).empty());
  CHECK(entries_like(signed_file.folder / "layer", "code.db-") == 0);
}

TEST_CASE(
    "without keys a log beside a file of a trusted place keeps the file from being read and nothing is made there") {
  const SignedFile signed_file;
  auto options = signed_file.options();
  options.trusted_keys.clear();
  SUBCASE("a log is there") {
    const auto writer = write_log(signed_file.file, signed_file.folder / "copy.db");
    Opening opening(options);
    CHECK_FALSE(opening.code().find("foreign").has_value());
    CHECK(opening.said("write-ahead log"));
  }
  SUBCASE("the header promises one") {
    Connection(signed_file.file, Access::read_write, 1000).execute("PRAGMA journal_mode = WAL");
    for (const char* end : {"-wal", "-shm"}) fs::remove(signed_file.file.string() + end);
    Opening opening(options);
    CHECK_FALSE(opening.code().find("key").has_value());
    CHECK(opening.said("write-ahead log"));
    CHECK(entries_like(signed_file.folder / "layer", "code.db-") == 0);
  }
  SUBCASE("a shipped file is read without its log") {
    options = signed_file.options(true);
    options.trusted_keys.clear();
    const auto writer = write_log(signed_file.file, signed_file.folder / "copy.db");
    Opening opening(options);
    CHECK(opening.code().find("key").has_value());
    CHECK_FALSE(opening.code().find("foreign").has_value());
  }
}

TEST_CASE("rows of an untrusted place are those of the file, whatever lies beside it") {
  const NoHang no_hang;
  const TemporaryFolder folder;
  const auto fill = [&](const std::string& name, const std::string& tile) {
    Opening opening(in_folder(folder / name));
    opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner(tile));
  };
  fill("layer", "8");
  fs::permissions(folder / "layer", fs::perms(0777));
  const std::string file = folder / "layer/tuning.db";
  auto options = in_folder(folder / "user");
  options.read_only = {folder / "layer"};
  SUBCASE("a log") {
    fs::copy_file(file, folder / "copy.db");
    Connection writer(folder / "copy.db", Access::read_write, 1000);
    writer.execute(
        "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; UPDATE winner SET config = 'tile_rows=16'");
    for (const char* end : {"-wal", "-shm"}) fs::copy_file((folder / "copy.db").string() + end, file + end);
    Opening opening(options);
    CHECK(tile_found(opening) == "8");
  }
  SUBCASE("pipes") {
    for (const char* end : {"-wal", "-shm", "-journal"}) REQUIRE(mkfifo((file + end).c_str(), 0666) == 0);
    Opening opening(options);
    CHECK(tile_found(opening) == "8");
  }
  SUBCASE("too many bytes are refused") {
    fs::resize_file(file, static_cast<std::uintmax_t>(most_untrusted_bytes) + 4096);
    Opening opening(options);
    CHECK(tile_found(opening).empty());
    CHECK(opening.said("more than 67108864"));
  }
}

TEST_CASE("a signed file that changes after its check changes nothing") {
  const SignedFile signed_file;
  const std::string forged = contents(signed_file.forged());
  Opening opening(signed_file.options());
  REQUIRE(opening.code().find("key").has_value());
  SUBCASE("rewritten") { write_file(signed_file.file, forged); }
  SUBCASE("cut short") { fs::resize_file(signed_file.file, 0); }
  SUBCASE("exchanged") { fs::rename(signed_file.forged(), signed_file.file); }
  SUBCASE("removed") { fs::remove(signed_file.file); }
  CHECK(opening.code().find("second").has_value());
  CHECK_FALSE(opening.code().find("foreign").has_value());
  CHECK(*opening.warnings == 0);
  Opening later(signed_file.options());
  CHECK_FALSE(later.code().find("foreign").has_value());
}

TEST_CASE("a signed file that is exchanged all the time is the signed one or is refused") {
  const SignedFile signed_file;
  const fs::path good = signed_file.folder / "good.db";
  fs::copy_file(signed_file.file, good);
  const fs::path forged = signed_file.forged();
  const fs::path next = signed_file.folder / "next";
  std::atomic<bool> stop = false;
  std::thread exchanger([&] {
    for (int i = 0; !stop; ++i) {
      fs::remove(next);
      fs::create_hard_link(i % 2 == 0 ? forged : good, next);
      fs::rename(next, signed_file.file);
    }
  });
  int used = 0;
  int foreign = 0;
  for (int i = 0; i < 300; ++i) {
    Opening opening(signed_file.options(i % 2 == 0));
    used += opening.code().find("key") ? 1 : 0;
    foreign += opening.code().find("foreign") ? 1 : 0;
  }
  stop = true;
  exchanger.join();
  MESSAGE("used ", used, " times, refused ", 300 - used, " times");
  CHECK(foreign == 0);
}

TEST_CASE("an older file with its own signature is still believed") {
  // Nothing else is possible without a memory of what was seen: cache/README.md says so.
  const SignedFile signed_file;
  const std::string old = contents(signed_file.file);
  const std::string old_signature = contents(signature_path(signed_file.file));
  fs::copy_file(signed_file.forged(), signed_file.file, fs::copy_options::overwrite_existing);
  sign_file(signed_file.file, signed_file.key);
  CHECK(Opening(signed_file.options()).code().find("foreign").has_value());
  write_file(signed_file.file, old);
  CHECK_FALSE(Opening(signed_file.options()).code().find("key").has_value());
  write_file(signature_path(signed_file.file), old_signature);
  CHECK(Opening(signed_file.options()).code().find("key").has_value());
}

TEST_CASE("a layer that is a pipe, a device or endless is refused at once") {
  const NoHang no_hang;
  const SignedFile signed_file;
  const fs::path pipe = signed_file.folder / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  auto options = in_folder(signed_file.folder / "user");
  SUBCASE("named as a file") {
    for (const fs::path& path : {pipe, fs::path("/dev/zero"), fs::path("/dev/full"), fs::path("/proc/self/mem")}) {
      CAPTURE(path);
      options.read_only = {path};
      Opening opening(options);
      CHECK(*opening.warnings == 1);
      CHECK_FALSE(opening.code().find("key").has_value());
    }
  }
  SUBCASE("in a folder, with and without keys") {
    for (const char* name : {"tuning.db", "code.db"}) {
      fs::remove(signed_file.folder / "layer" / fs::path(name));
      fs::create_symlink(pipe, signed_file.folder / "layer" / fs::path(name));
    }
    for (const bool as_shipped : {false, true}) {
      options = signed_file.options(as_shipped);
      Opening with_keys(options);
      CHECK(*with_keys.warnings == 2);
      CHECK(with_keys.said("no regular file"));
      options.trusted_keys.clear();
      Opening without(options);
      CHECK(*without.warnings == 2);
      CHECK(without.said("no regular file"));
    }
  }
  SUBCASE("in a folder that is not trusted") {
    fs::permissions(signed_file.folder / "layer", fs::perms(0777));
    fs::remove(signed_file.folder / "layer/tuning.db");
    REQUIRE(mkfifo((signed_file.folder / "layer/tuning.db").c_str(), 0666) == 0);
    options.read_only = {signed_file.folder / "layer"};
    CHECK(Opening(options).said("no regular file"));
  }
  SUBCASE("in the user's own folder") {
    fs::create_directory(signed_file.folder / "user");
    fs::permissions(signed_file.folder / "user", fs::perms(0700));
    for (const char* name : {"tuning.db", "code.db"})
      REQUIRE(mkfifo((signed_file.folder / "user" / fs::path(name)).c_str(), 0600) == 0);
    Opening opening(options);
    CHECK(*opening.warnings == 2);
    opening.code().put(sample_entry("new"), sample_image());
    CHECK(opening.code().find("new").has_value());
  }
  SUBCASE("a signed file of a terabyte") {
    fs::resize_file(signed_file.file, std::uintmax_t{1} << 40U);
    Opening opening(signed_file.options());
    CHECK_FALSE(opening.code().find("key").has_value());
    CHECK(opening.said("more than 536870912"));
    CHECK(faults(signed_file).front().find("more than 536870912") != std::string::npos);
  }
}

TEST_CASE("a signature or a key that is a pipe, a device or endless is refused at once") {
  const NoHang no_hang;
  const SignedFile signed_file;
  const fs::path signature = signature_path(signed_file.file);
  const fs::path bad = signed_file.folder / "bad";
  SUBCASE("a pipe") { REQUIRE(mkfifo(bad.c_str(), 0600) == 0); }
  SUBCASE("a device") { fs::create_symlink("/dev/zero", bad); }
  SUBCASE("a file of a terabyte") {
    fs::copy_file(signature, bad);
    fs::resize_file(bad, std::uintmax_t{1} << 40U);
  }
  SUBCASE("a folder") { fs::create_directory(bad); }
  fs::remove(signature);
  fs::rename(bad, signature);
  Opening opening(signed_file.options());
  CHECK_FALSE(opening.code().find("key").has_value());
  CHECK(opening.said("its signature is malformed"));
  CHECK(faults(signed_file) == std::vector<std::string>{"its signature is malformed"});
  CHECK_FALSE(signer_of(signed_file.file).has_value());
  CHECK(vostok::test::code_of([&] { read_public_key(signature); }) == ErrorCode::invalid_argument);
  CHECK(vostok::test::code_of([&] { read_signing_key(signature); }) == ErrorCode::invalid_argument);
}
