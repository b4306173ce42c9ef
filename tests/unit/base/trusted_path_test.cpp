// Which places are trusted, by facts that a fake gives. On a disk: trusted_path_disk_test.cpp.
#include "base/trusted_path.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "contains.hpp"

using namespace vostok;
using test::contains;
namespace fs = std::filesystem;

namespace {

constexpr unsigned me = 1000;
constexpr unsigned other = 2000;
constexpr unsigned my_group = 1000;
constexpr unsigned common_group = 100;
constexpr unsigned nobody = 65534;

/// A tree of nothing but facts, seen by user 1000 whose private group is 1000.
struct FakeTree : PathProbe {
  std::map<fs::path, PathFacts> entries = {{"/", {.is_folder = true, .owner = 0, .mode = 0755}}};
  std::map<fs::path, fs::path> links;
  std::set<fs::path> read_only;
  bool knows_every_owner = true;

  void folder(const fs::path& path, unsigned owner, unsigned mode, unsigned group = 0) {
    entries[path] = {.is_folder = true, .owner = owner, .group = group, .mode = mode};
  }
  void file(const fs::path& path, unsigned owner, unsigned mode, unsigned group = 0) {
    entries[path] = {.is_file = true, .owner = owner, .group = group, .mode = mode};
  }
  void link(const fs::path& path, unsigned owner, const fs::path& target) {
    entries[path] = {.is_link = true, .owner = owner, .mode = 0777};
    links[path] = target;
  }

  std::optional<PathFacts> entry(const fs::path& path) const override {
    const auto found = entries.find(path);
    return found == entries.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<fs::path> link_target(const fs::path& path) const override { return links.at(path); }
  bool is_on_read_only_mount(const fs::path& path) const override { return read_only.contains(path); }
  unsigned user() const override { return me; }
  bool is_private_group(unsigned group) const override { return group == 0 || group == my_group; }
  bool is_known_owner(unsigned owner) const override { return knows_every_owner || owner != nobody; }

  std::string doubt(const fs::path& path, std::optional<unsigned> installed_by = std::nullopt) const {
    return trusted_path(path, *this, installed_by).doubt;
  }
};

FakeTree home_and_scratch() {
  FakeTree tree;
  tree.folder("/home", 0, 0755);
  tree.folder("/home/me", me, 0750, common_group);
  tree.file("/home/me/file", me, 0644);
  tree.folder("/tmp", 0, 01777);
  return tree;
}

}  // namespace

TEST_CASE("a path is trusted where all on it is root's or the user's and nobody else can write it") {
  FakeTree tree = home_and_scratch();
  CHECK(tree.doubt("/home/me/file") == "");
  CHECK(trusted_path("/home/./me/../me//file", tree).resolved == "/home/me/file");
  tree.file("/home/me/roots", 0, 0644);
  CHECK(tree.doubt("/home/me/roots") == "");
  SUBCASE("another user's file") {
    tree.file("/home/me/file", other, 0644);
    CHECK(tree.doubt("/home/me/file") == "/home/me/file belongs to user 2000, not to 1000");
  }
  SUBCASE("another user's folder far above") {
    tree.folder("/home", other, 0755);
    CHECK(contains(tree.doubt("/home/me/file"), "/home belongs to user 2000"));
  }
  SUBCASE("a file that anyone can write") {
    tree.file("/home/me/file", me, 0646);
    CHECK(tree.doubt("/home/me/file") == "others can write /home/me/file (mode 646)");
  }
  SUBCASE("a folder above that anyone can write") {
    tree.folder("/home", 0, 0777);
    CHECK(contains(tree.doubt("/home/me/file"), "others can write /home (mode 777)"));
  }
  SUBCASE("the root folder is asked too") {
    tree.folder("/", other, 0755);
    CHECK(contains(tree.doubt("/home/me/file"), "/ belongs to user 2000"));
  }
  SUBCASE("what is not there is not trusted") {
    CHECK(contains(tree.doubt("/home/me/absent/file"), "/home/me/absent is not there"));
  }
}

TEST_CASE("a group counts as others unless it is root's or the user's private one") {
  FakeTree tree = home_and_scratch();
  SUBCASE("of a file") {
    tree.file("/home/me/file", me, 0664, my_group);
    CHECK(tree.doubt("/home/me/file") == "");
    tree.file("/home/me/file", me, 0664, 0);
    CHECK(tree.doubt("/home/me/file") == "");
    tree.file("/home/me/file", me, 0664, common_group);
    CHECK(contains(tree.doubt("/home/me/file"), "others can write /home/me/file (mode 664)"));
  }
  SUBCASE("of a folder") {
    tree.folder("/home/me", me, 0770, common_group);
    CHECK(contains(tree.doubt("/home/me/file"), "others can write /home/me (mode 770)"));
  }
  SUBCASE("an access list may name anybody") {
    tree.file("/home/me/file", me, 0664, my_group);
    tree.entries["/home/me/file"].has_access_list = true;
    CHECK(contains(tree.doubt("/home/me/file"), "others can write"));
  }
}

TEST_CASE("a sticky folder is fine above what is root's or the user's, but not as a file's own folder") {
  FakeTree tree = home_and_scratch();
  tree.folder("/tmp/mine", me, 0755);
  tree.file("/tmp/mine/file", me, 0644);
  tree.file("/tmp/file", me, 0644);
  tree.folder("/tmp/theirs", other, 0755);
  tree.file("/tmp/theirs/file", me, 0644);
  CHECK(tree.doubt("/tmp/mine/file") == "");
  CHECK(tree.doubt("/tmp/mine") == "");
  CHECK(contains(tree.doubt("/tmp/file"), "others can write /tmp (mode 1777)"));
  CHECK(contains(tree.doubt("/tmp"), "others can write /tmp (mode 1777)"));
  CHECK(contains(tree.doubt("/tmp/theirs/file"), "/tmp/theirs belongs to user 2000"));
  SUBCASE("a sticky folder of another user is not") {
    tree.folder("/tmp", other, 01777);
    CHECK(contains(tree.doubt("/tmp/mine/file"), "/tmp belongs to user 2000"));
  }
  SUBCASE("a sticky file is no folder") {
    tree.file("/tmp/mine/file", me, 01666);
    CHECK(contains(tree.doubt("/tmp/mine/file"), "others can write"));
  }
}

TEST_CASE("every link on the way counts by its owner, the folder it lies in and where it leads") {
  FakeTree tree = home_and_scratch();
  tree.folder("/tmp/theirs", other, 0755);
  tree.link("/home/me/link", me, "file");
  CHECK(trusted_path("/home/me/link", tree).resolved == "/home/me/file");
  SUBCASE("a link of the user in a sticky folder cannot be exchanged") {
    tree.link("/tmp/link", me, "/home/me");
    CHECK(tree.doubt("/tmp/link/file") == "");
    CHECK(trusted_path("/tmp/link/file", tree).resolved == "/home/me/file");
  }
  SUBCASE("another user's link to a trusted file") {
    tree.link("/tmp/link", other, "/home/me/file");
    CHECK(contains(tree.doubt("/tmp/link"), "/tmp/link belongs to user 2000"));
  }
  SUBCASE("the user's link to a place of another") {
    tree.link("/home/me/link", me, "../../tmp/theirs/file");
    CHECK(contains(tree.doubt("/home/me/link"), "/tmp/theirs belongs to user 2000"));
  }
  SUBCASE("a chain passes through every link") {
    tree.link("/home/me/first", me, "/tmp/second");
    tree.link("/tmp/second", other, "/home/me/file");
    CHECK(contains(tree.doubt("/home/me/first"), "/tmp/second belongs to user 2000"));
  }
  SUBCASE("what lies above by two dots is above the link's target") {
    tree.link("/home/me/up", me, "/tmp/theirs/..");
    CHECK(contains(tree.doubt("/home/me/up"), "/tmp/theirs belongs to user 2000"));
  }
  SUBCASE("a circle ends") {
    tree.link("/home/me/a", me, "b");
    tree.link("/home/me/b", me, "a");
    CHECK(contains(tree.doubt("/home/me/a"), "more than 40 links"));
  }
}

TEST_CASE("the library file's owner counts for what is named as part of its installation only") {
  FakeTree tree = home_and_scratch();
  tree.folder("/opt", 0, 0755);
  tree.folder("/opt/v", other, 0755);
  tree.file("/opt/v/file", other, 0644);
  CHECK(contains(tree.doubt("/opt/v/file"), "/opt/v belongs to user 2000"));
  CHECK(tree.doubt("/opt/v/file", other) == "");
  CHECK(contains(tree.doubt("/opt/v/file", 3000U), "/opt/v belongs to user 2000"));
}

TEST_CASE("an owner that the user namespace does not know is accepted on a read-only mount only") {
  FakeTree tree = home_and_scratch();
  tree.knows_every_owner = false;
  tree.folder("/image", nobody, 0755);
  tree.file("/image/file", nobody, 0644);
  CHECK(contains(tree.doubt("/image/file"), "does not know"));
  tree.read_only.insert("/image");
  CHECK(contains(tree.doubt("/image/file"), "/image/file belongs to a user that this user namespace does not know"));
  tree.read_only.insert("/image/file");
  CHECK(tree.doubt("/image/file") == "");
  SUBCASE("that number as a user of its own has no such right") {
    tree.knows_every_owner = true;
    CHECK(contains(tree.doubt("/image/file"), "belongs to user 65534"));
  }
  SUBCASE("others that can write count there too") {
    tree.entries["/image/file"].mode = 0666;
    CHECK(contains(tree.doubt("/image/file"), "others can write"));
  }
}
