// Where the cache lies, and which places it does not trust.
#include "cache/location.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <map>

#include "cache/cache.hpp"
#include "unit/cache/fixture.hpp"

using namespace vostok;
using namespace vostok::cache;
using namespace vostok::cache::testing;

namespace {

/// Sets or unsets a variable until the end of the scope.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    if (value != nullptr) setenv(name, value, 1);
    else unsetenv(name);
  }
  ~ScopedVariable() {
    if (old_) setenv(name_, old_->c_str(), 1);
    else unsetenv(name_);
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

/// The system's answers, changed for what the test is about.
struct FakeProbe : PathProbe {
  std::int64_t type = 0;
  std::optional<unsigned> owner;  ///< of everything
  bool folders_are_writable = true;

  std::optional<PathFacts> facts(const std::filesystem::path& path) const override {
    return changed(PathProbe::facts(path));
  }
  std::optional<PathFacts> entry(const std::filesystem::path& path) const override {
    return changed(PathProbe::entry(path));
  }
  std::int64_t filesystem_type(const std::filesystem::path&) const override { return type; }

 private:
  std::optional<PathFacts> changed(std::optional<PathFacts> found) const {
    if (found && owner) found->owner = *owner;
    if (found && found->is_folder) found->is_writable = folders_are_writable;
    return found;
  }
};

void check_memory_only(Opening& opening, int warnings) {
  CHECK(opening.tuning().find(sample_problem(), sample_device()).empty());
  opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner("32"));
  opening.code().put(sample_entry("degraded"), sample_image());
  CHECK(opening.tuning().find(sample_problem(), sample_device()).size() == 1);
  CHECK(opening.code().find("degraded").has_value());
  CHECK(*opening.warnings == warnings);
}

void fill(const std::filesystem::path& folder) {
  Opening opening(in_folder(folder));
  opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner());
  opening.code().put(sample_entry(), sample_image());
}

}  // namespace

TEST_CASE("the folder is the option's, VOSTOK_CACHE_DIR, XDG_CACHE_HOME's or HOME's, in that order") {
  const ScopedVariable own("VOSTOK_CACHE_DIR", "/own");
  const ScopedVariable xdg("XDG_CACHE_HOME", "/xdg");
  const ScopedVariable home("HOME", "/home/someone");
  CacheOptions options;
  options.folder = "/option";
  CHECK(locate(options).folder == "/option");
  CHECK(locate({}).folder == "/own");
  const ScopedVariable no_own("VOSTOK_CACHE_DIR", nullptr);
  CHECK(locate({}).folder == "/xdg/vostok");
  CHECK(locate({}).from == "XDG_CACHE_HOME");
  SUBCASE("a relative XDG_CACHE_HOME is ignored, as its specification asks") {
    const ScopedVariable relative("XDG_CACHE_HOME", "xdg");
    CHECK(locate({}).folder == "/home/someone/.cache/vostok");
  }
  const ScopedVariable no_xdg("XDG_CACHE_HOME", nullptr);
  CHECK(locate({}).folder == "/home/someone/.cache/vostok");
}

TEST_CASE("without a HOME the cache is memory, with one warning") {
  const ScopedVariable no_own("VOSTOK_CACHE_DIR", nullptr);
  const ScopedVariable no_xdg("XDG_CACHE_HOME", nullptr);
  const ScopedVariable no_home("HOME", nullptr);
  Opening opening(CacheOptions{.shipped = "/nonexistent"});
  check_memory_only(opening, 1);
  CHECK(opening.said("HOME"));
}

TEST_CASE("a folder that cannot be made is memory, with one warning") {
  const TemporaryFolder folder;
  write_file(folder / "file", "");
  SUBCASE("below a regular file") {
    Opening opening(in_folder(folder / "file" / "c"));
    check_memory_only(opening, 1);
    CHECK(opening.said("cannot make"));
  }
  SUBCASE("below /proc") {
    Opening opening(in_folder("/proc/vostok/c"));
    check_memory_only(opening, 1);
  }
  SUBCASE("a regular file itself") {
    Opening opening(in_folder(folder / "file"));
    check_memory_only(opening, 1);
    CHECK(opening.said("is not a folder"));
  }
}

TEST_CASE("a read-only folder is read, and new results are kept in memory, with one warning") {
  const TemporaryFolder folder;
  fill(folder / "c");
  const std::string before = contents(folder / "c" / "tuning.db");
  auto probe = std::make_shared<FakeProbe>();
  probe->folders_are_writable = false;
  Opening opening(in_folder(folder / "c"), probe);
  CHECK(opening.tuning().find(sample_problem(), sample_device()).size() == 1);
  CHECK(opening.code().find("key").has_value());
  opening.tuning().set_winner(sample_problem(100), sample_device(), sample_winner("32"));
  CHECK(opening.tuning().find(sample_problem(100), sample_device()).front().winner.config.at("tile_rows") == "32");
  CHECK(contents(folder / "c" / "tuning.db") == before);
  CHECK(*opening.warnings == 1);
  CHECK(opening.layer("tuning.db")->state == "in use, read-only");
  SUBCASE("an empty one is memory") {
    std::filesystem::create_directory(folder / "empty");
    Opening empty(in_folder(folder / "empty"), probe);
    check_memory_only(empty, 1);
    CHECK(empty.layer("tuning.db")->state == "not there");
  }
}

TEST_CASE("a folder of another user is ignored, with one warning") {
  const TemporaryFolder folder;
  fill(folder / "c");
  auto probe = std::make_shared<FakeProbe>();
  probe->owner = probe->user() + 1;
  Opening opening(in_folder(folder / "c"), probe);
  check_memory_only(opening, 1);
  CHECK(opening.said("belongs to user"));
}

TEST_CASE("a folder or a file that others can write is ignored, with one warning") {
  const TemporaryFolder folder;
  fill(folder / "c");
  SUBCASE("the folder") {
    REQUIRE(chmod((folder / "c").c_str(), 0707) == 0);
    Opening opening(in_folder(folder / "c"));
    check_memory_only(opening, 1);
    CHECK(opening.said("others can write"));
  }
  SUBCASE("one file: the other is used") {
    REQUIRE(chmod((folder / "c" / "code.db").c_str(), 0646) == 0);
    Opening opening(in_folder(folder / "c"));
    CHECK_FALSE(opening.code().find("key").has_value());
    CHECK(opening.tuning().find(sample_problem(), sample_device()).size() == 1);
    CHECK(*opening.warnings == 1);
  }
  SUBCASE("a read-only file") {
    REQUIRE(chmod((folder / "c" / "code.db").c_str(), 0646) == 0);
    auto options = in_folder(folder / "user");
    options.read_only = {folder / "c"};
    Opening opening(options);
    CHECK_FALSE(opening.code().find("key").has_value());
    CHECK(opening.tuning().find(sample_problem(), sample_device()).size() == 1);
    CHECK(*opening.warnings == 1);
  }
}

TEST_CASE("a folder on a network file system is read, not written, until that is asked for") {
  const TemporaryFolder folder;
  fill(folder / "c");
  auto probe = std::make_shared<FakeProbe>();
  for (const auto& [type, title] : std::map<std::int64_t, std::string>{{0x6969, "NFS"},
                                                                       {0x0BD00BD0, "Lustre"},
                                                                       {0x47504653, "GPFS"},
                                                                       {-11317950, "CIFS"},
                                                                       {0x19830326, "BeeGFS"},
                                                                       {0x65735546, "FUSE"}}) {
    CAPTURE(title);
    probe->type = type;
    Opening opening(in_folder(folder / "c"), probe);
    CHECK(*opening.warnings == 1);
    CHECK(opening.said("network file system (" + title + ")"));
    CHECK(opening.said("allow_network_folder"));
    CHECK(opening.tuning().find(sample_problem(), sample_device()).size() == 1);
    opening.code().put(sample_entry("new"), sample_image());
    CHECK(opening.code().find("new").has_value());
    CHECK_FALSE(Opening(in_folder(folder / "c")).code().find("new").has_value());
  }
  SUBCASE("none is made there") {
    Opening opening(in_folder(folder / "absent"), probe);
    check_memory_only(opening, 1);
    CHECK_FALSE(std::filesystem::exists(folder / "absent"));
  }
  SUBCASE("asked for, it is written") {
    auto options = in_folder(folder / "c");
    options.allow_network_folder = true;
    Opening opening(options, probe);
    opening.code().put(sample_entry("new"), sample_image());
    CHECK(*opening.warnings == 0);
    CHECK(Opening(in_folder(folder / "c")).code().find("new").has_value());
  }
}

TEST_CASE("a read-only layer that cannot be used is one warning, and stays as it is") {
  const TemporaryFolder folder;
  fill(folder / "c");
  auto options = in_folder(folder / "user");
  SUBCASE("not there") { options.read_only = {folder / "absent.db"}; }
  SUBCASE("malformed") {
    write_file(folder / "bad.db", std::string(5000, 'z'));
    options.read_only = {folder / "bad.db"};
  }
  SUBCASE("a malformed file in a folder") {
    write_file(folder / "c" / "tuning.db", std::string(5000, 'z'));
    options.read_only = {folder / "c"};
  }
  SUBCASE("a file of the shipped layer") {
    write_file(folder / "c" / "tuning.db", std::string(5000, 'z'));
    options.shipped = folder / "c";
  }
  Opening opening(options);
  CHECK(*opening.warnings == 1);
  CHECK(opening.tuning().find(sample_problem(), sample_device()).empty());
  CHECK(entries_like(folder.path(), "damaged") + entries_like(folder / "c", "damaged") == 0);
}

TEST_CASE("a shipped file is read without locks and leaves no trace in its folder") {
  const TemporaryFolder folder;
  fill(folder / "shipped%3F");  // a name that a URI has to quote
  REQUIRE(chmod((folder / "shipped%3F").c_str(), 0555) == 0);
  auto options = in_folder(folder / "user");
  options.shipped = folder / "shipped%3F";
  // A hot journal would make every other reader write; nobody writes here, so it is not even looked at.
  write_file(folder / "shipped%3F" / "tuning.db-journal", std::string(600, 'j'));
  Opening opening(options);
  CHECK(opening.tuning().find(sample_problem(), sample_device()).size() == 1);
  CHECK(contents(folder / "shipped%3F" / "tuning.db-journal") == std::string(600, 'j'));
  CHECK(*opening.warnings == 0);
}

TEST_CASE("a sink that throws does not get out of the cache") {
  const TemporaryFolder folder;
  write_file(folder / "file", "");
  auto logger = std::make_shared<Logger>([](LogLevel, std::string_view) { throw std::runtime_error("no log today"); });
  Opened opened;
  CHECK_NOTHROW(opened = cache::open(in_folder(folder / "file"), logger, {}));
  CHECK_NOTHROW(opened.stores.code->put(sample_entry(), sample_image()));
  CHECK(opened.stores.code->find("key").has_value());
}
