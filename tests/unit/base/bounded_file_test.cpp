#include "base/bounded_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/temporary_folder.hpp"
#include "contains.hpp"

using namespace vostok;
using test::contains;

namespace {

/// Why the file is not read; "" where it is.
std::string reason(const std::filesystem::path& path, std::int64_t most_bytes) {
  try {
    read_bounded(path, most_bytes);
    return "";
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::io_failure);
    return error.what();
  }
}

}  // namespace

TEST_CASE("a file is read to its end up to the bound, and refused above it") {
  const TemporaryFolder folder;
  const std::string text("ab\0c", 4);
  const auto file = folder.write("file", text);
  CHECK(read_bounded(file, 4) == text);
  CHECK(contains(reason(file, 3), "it has 4 bytes, more than 3"));
  CHECK(read_bounded(folder.write("empty", ""), 0).empty());
  CHECK(contains(reason(folder / "absent", 10), "No such file"));
}

TEST_CASE("the first bytes of a file are read, however long it is") {
  const TemporaryFolder folder;
  const auto file = folder.write("file", "abcdef");
  CHECK(read_start(file, 4) == "abcd");
  CHECK(read_start(file, 100) == "abcdef");
  std::filesystem::resize_file(file, std::uintmax_t{1} << 40U);
  CHECK(read_start(file, 7) == std::string("abcdef\0", 7));
  CHECK(contains(reason(file, 1 << 20), "more than 1048576"));
}

TEST_CASE("a file that claims no size is read within the bound") {
  CHECK_FALSE(read_bounded("/proc/self/status", 1 << 20).empty());
  CHECK(contains(reason("/proc/self/status", 10), "more than 10 bytes"));
}

TEST_CASE("pipes, devices and folders are refused at once") {
  const TemporaryFolder folder;
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(contains(reason(folder / "pipe", 10), "no regular file"));
  CHECK(contains(reason("/dev/zero", 10), "no regular file"));
  CHECK(contains(reason(folder.path(), 10), "it is a folder"));
}
