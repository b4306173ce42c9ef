#include "cache/replace_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "base/temporary_folder.hpp"
#include "error_code.hpp"
#include "sparse/text_file.hpp"

using namespace vostok;

namespace {

namespace fs = std::filesystem;

int entries_of(const TemporaryFolder& folder) {
  return static_cast<int>(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()));
}

std::string refusal_of(const fs::path& path) {
  std::string message;
  CHECK(test::code_of([&] { cache::require_replaceable(path); }, &message) == ErrorCode::io_failure);
  CHECK(test::code_of([&] { cache::replace_file(path, "text"); }) == ErrorCode::io_failure);
  CHECK(message.find(path.string()) != std::string::npos);
  return message;
}

}  // namespace

TEST_CASE(
    "a file is replaced once the new one is whole, with the old one's permissions, and nothing is left beside it") {
  const TemporaryFolder folder;
  const fs::path file = folder.write("file", "old");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  cache::replace_file(file, [&](const fs::path& fresh) {
    std::ofstream(fresh) << "new";
    CHECK(sparse::read_bytes(file) == "old");
    struct stat around = {};
    REQUIRE(stat(fresh.parent_path().c_str(), &around) == 0);
    CHECK((around.st_mode & 077U) == 0);
  });
  CHECK(sparse::read_bytes(file) == "new");
  CHECK(fs::status(file).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  cache::replace_file(folder / "another", "text");
  CHECK(sparse::read_bytes(folder / "another") == "text");
  CHECK(entries_of(folder) == 2);
}

TEST_CASE("what fails while a file is made leaves the old one, and nothing beside it") {
  const TemporaryFolder folder;
  const fs::path file = folder.write("file", "old");
  const auto code = test::code_of([&] {
    cache::replace_file(file, [](const fs::path& fresh) {
      std::ofstream(fresh) << "half";
      fail(ErrorCode::compile_failed, "cannot go on");
    });
  });
  CHECK(code == ErrorCode::compile_failed);
  std::string message;
  CHECK(test::code_of([&] { cache::replace_file(file, [](const fs::path&) {}); }, &message) == ErrorCode::io_failure);
  CHECK(message.find(file.string()) != std::string::npos);
  CHECK(test::code_of([&] {
          cache::replace_file(file, [](const fs::path& fresh) { fs::copy_file("/no/such/file", fresh); });
        }) == ErrorCode::io_failure);
  CHECK(sparse::read_bytes(file) == "old");
  CHECK(entries_of(folder) == 1);
}

TEST_CASE("nothing but a file is replaced, and it is said what is there") {
  const TemporaryFolder folder;
  const fs::path file = folder.write("file", "old");
  fs::create_symlink(file, folder / "link");
  fs::create_symlink("/no/such/file", folder / "broken link");
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(refusal_of(folder / "link").find("it is a link") != std::string::npos);
  CHECK(refusal_of(folder / "broken link").find("it is a link") != std::string::npos);
  CHECK(refusal_of(folder / "pipe").find("it is a pipe") != std::string::npos);
  CHECK(refusal_of(folder.path()).find("it is a folder") != std::string::npos);
  CHECK(refusal_of(folder / "absent" / "file").find("there is no folder") != std::string::npos);
  CHECK(refusal_of(file / "file").find("there is no folder") != std::string::npos);
  CHECK(refusal_of("").find("names no file") != std::string::npos);
  std::string message;
  // Only looked at: where this fails, nobody's device is replaced.
  CHECK(test::code_of([] { cache::require_replaceable("/dev/null"); }, &message) == ErrorCode::io_failure);
  CHECK(message.find("it is a device") != std::string::npos);
  CHECK(sparse::read_bytes(file) == "old");
}
