// Which places are trusted: by facts that a fake gives, and on a disk with files of several users.
#include "base/trusted_path.hpp"

#include <doctest/doctest.h>
#include <pwd.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "unit/second_user.hpp"

using namespace vostok;
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

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Of users, of whom the second user is all there is, and of mounts. A process that has changed its user may not say
/// who is mapped until it may be looked into again.
bool enter_namespaces() {
  if (prctl(PR_SET_DUMPABLE, 1) != 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  std::ofstream map("/proc/self/uid_map");
  map << test::second_user << ' ' << test::second_user << " 1" << std::flush;
  return map.good() && geteuid() == test::second_user;
}

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
    CHECK(mentions(tree.doubt("/home/me/file"), "/home belongs to user 2000"));
  }
  SUBCASE("a file that anyone can write") {
    tree.file("/home/me/file", me, 0646);
    CHECK(tree.doubt("/home/me/file") == "others can write /home/me/file (mode 646)");
  }
  SUBCASE("a folder above that anyone can write") {
    tree.folder("/home", 0, 0777);
    CHECK(mentions(tree.doubt("/home/me/file"), "others can write /home (mode 777)"));
  }
  SUBCASE("the root folder is asked too") {
    tree.folder("/", other, 0755);
    CHECK(mentions(tree.doubt("/home/me/file"), "/ belongs to user 2000"));
  }
  SUBCASE("what is not there is not trusted") { CHECK(mentions(tree.doubt("/home/me/absent/file"), "/home/me/absent is not there")); }
}

TEST_CASE("a group counts as others unless it is root's or the user's private one") {
  FakeTree tree = home_and_scratch();
  SUBCASE("of a file") {
    tree.file("/home/me/file", me, 0664, my_group);
    CHECK(tree.doubt("/home/me/file") == "");
    tree.file("/home/me/file", me, 0664, 0);
    CHECK(tree.doubt("/home/me/file") == "");
    tree.file("/home/me/file", me, 0664, common_group);
    CHECK(mentions(tree.doubt("/home/me/file"), "others can write /home/me/file (mode 664)"));
  }
  SUBCASE("of a folder") {
    tree.folder("/home/me", me, 0770, common_group);
    CHECK(mentions(tree.doubt("/home/me/file"), "others can write /home/me (mode 770)"));
  }
  SUBCASE("an access list may name anybody") {
    tree.file("/home/me/file", me, 0664, my_group);
    tree.entries["/home/me/file"].has_access_list = true;
    CHECK(mentions(tree.doubt("/home/me/file"), "others can write"));
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
  CHECK(mentions(tree.doubt("/tmp/file"), "others can write /tmp (mode 1777)"));
  CHECK(mentions(tree.doubt("/tmp"), "others can write /tmp (mode 1777)"));
  CHECK(mentions(tree.doubt("/tmp/theirs/file"), "/tmp/theirs belongs to user 2000"));
  SUBCASE("a sticky folder of another user is not") {
    tree.folder("/tmp", other, 01777);
    CHECK(mentions(tree.doubt("/tmp/mine/file"), "/tmp belongs to user 2000"));
  }
  SUBCASE("a sticky file is no folder") {
    tree.file("/tmp/mine/file", me, 01666);
    CHECK(mentions(tree.doubt("/tmp/mine/file"), "others can write"));
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
    CHECK(mentions(tree.doubt("/tmp/link"), "/tmp/link belongs to user 2000"));
  }
  SUBCASE("the user's link to a place of another") {
    tree.link("/home/me/link", me, "../../tmp/theirs/file");
    CHECK(mentions(tree.doubt("/home/me/link"), "/tmp/theirs belongs to user 2000"));
  }
  SUBCASE("a chain passes through every link") {
    tree.link("/home/me/first", me, "/tmp/second");
    tree.link("/tmp/second", other, "/home/me/file");
    CHECK(mentions(tree.doubt("/home/me/first"), "/tmp/second belongs to user 2000"));
  }
  SUBCASE("what lies above by two dots is above the link's target") {
    tree.link("/home/me/up", me, "/tmp/theirs/..");
    CHECK(mentions(tree.doubt("/home/me/up"), "/tmp/theirs belongs to user 2000"));
  }
  SUBCASE("a circle ends") {
    tree.link("/home/me/a", me, "b");
    tree.link("/home/me/b", me, "a");
    CHECK(mentions(tree.doubt("/home/me/a"), "more than 40 links"));
  }
}

TEST_CASE("the library file's owner counts for what is named as part of its installation only") {
  FakeTree tree = home_and_scratch();
  tree.folder("/opt", 0, 0755);
  tree.folder("/opt/v", other, 0755);
  tree.file("/opt/v/file", other, 0644);
  CHECK(mentions(tree.doubt("/opt/v/file"), "/opt/v belongs to user 2000"));
  CHECK(tree.doubt("/opt/v/file", other) == "");
  CHECK(mentions(tree.doubt("/opt/v/file", 3000U), "/opt/v belongs to user 2000"));
}

TEST_CASE("an owner that the user namespace does not know is accepted on a read-only mount only") {
  FakeTree tree = home_and_scratch();
  tree.knows_every_owner = false;
  tree.folder("/image", nobody, 0755);
  tree.file("/image/file", nobody, 0644);
  CHECK(mentions(tree.doubt("/image/file"), "does not know"));
  tree.read_only.insert("/image");
  CHECK(mentions(tree.doubt("/image/file"), "/image/file belongs to a user that this user namespace does not know"));
  tree.read_only.insert("/image/file");
  CHECK(tree.doubt("/image/file") == "");
  SUBCASE("that number as a user of its own has no such right") {
    tree.knows_every_owner = true;
    CHECK(mentions(tree.doubt("/image/file"), "belongs to user 65534"));
  }
  SUBCASE("others that can write count there too") {
    tree.entries["/image/file"].mode = 0666;
    CHECK(mentions(tree.doubt("/image/file"), "others can write"));
  }
}

TEST_CASE("on a disk a path is trusted by who owns it and who can write it") {
  const TemporaryFolder folder;
  folder.write("mine/file", "");
  REQUIRE(chmod((folder / "mine").c_str(), 0755) == 0);
  REQUIRE(chmod((folder / "mine/file").c_str(), 0644) == 0);
  const fs::path file = fs::canonical(folder.path()) / "mine/file";
  CHECK(trusted_path(folder / "mine/file").doubt == "");
  CHECK(trusted_path(folder / "mine/file").resolved == file);
  fs::create_symlink("mine", folder / "link");
  CHECK(trusted_path(folder / "link/file").resolved == file);
  REQUIRE(chmod((folder / "mine").c_str(), 0757) == 0);
  CHECK(mentions(trusted_path(folder / "link/file").doubt, "others can write"));
  REQUIRE(chmod((folder / "mine").c_str(), 01777) == 0);
  CHECK(mentions(trusted_path(folder / "link/file").doubt, "(mode 1777)"));
  REQUIRE(chmod((folder / "mine").c_str(), 0755) == 0);
  REQUIRE(chmod((folder / "mine/file").c_str(), 0646) == 0);
  CHECK(mentions(trusted_path(file).doubt, "(mode 646)"));
  SUBCASE("a relative path begins in the current folder") {
    REQUIRE(chmod((folder / "mine/file").c_str(), 0644) == 0);
    const fs::path before = fs::current_path();
    fs::current_path(folder.path());
    const TrustedPath found = trusted_path("mine/file");
    fs::current_path(before);
    CHECK(found.doubt == "");
    CHECK(found.resolved == file);
  }
}

TEST_CASE("on a disk an access list that lets a second user write is noticed") {
  const TemporaryFolder folder;
  folder.write("file", "");
  // Version 2, then owner rw, user 4711 rw, group r, mask rw, others r; each entry is a tag, a permission and a number.
  const unsigned char list[] = {2, 0, 0,    0,    1,    0,    6,  0, 0xff, 0xff, 0xff, 0xff, 2,    0,    6,  0, 0x67, 0x12, 0,    0,    4,    0,
                                4, 0, 0xff, 0xff, 0xff, 0xff, 16, 0, 6,    0,    0xff, 0xff, 0xff, 0xff, 32, 0, 4,    0,    0xff, 0xff, 0xff, 0xff};
  if (setxattr((folder / "file").c_str(), "system.posix_acl_access", list, sizeof list, 0) != 0) {
    MESSAGE("skipped: no access list can be set here: ", std::strerror(errno));
    return;
  }
  CHECK(mentions(trusted_path(folder / "file").doubt, "others can write"));
}

TEST_CASE("on a disk another user's files, links and folders are not trusted, and root's are") {
  if (!test::can_be_other_users()) {
    MESSAGE(test::skipped_without_root);
    return;
  }
  const TemporaryFolder folder;
  REQUIRE(chmod(folder.path().c_str(), 01777) == 0);
  fs::create_directory(folder / "roots");
  folder.write("roots/file", "");
  const fs::path roots = folder / "roots/file";
  const auto doubt_of_second = [&](const fs::path& path) { return test::as_user(test::second_user, [&] { return trusted_path(path).doubt; }); };
  REQUIRE(test::as_user(test::third_user, [&] {
            fs::create_directory(folder / "theirs");
            folder.write("theirs/file", "");
            fs::create_symlink(roots, folder / "to-roots");
            return std::string("made");
          }) == "made");
  CHECK(doubt_of_second(roots) == "");
  CHECK(mentions(doubt_of_second(folder / "theirs/file"), "belongs to user 4712, not to 4711"));
  CHECK(mentions(doubt_of_second(folder / "to-roots"), "to-roots belongs to user 4712"));
  CHECK(mentions(trusted_path(folder / "theirs/file").doubt, "belongs to user 4712, not to 0"));
  // A virtual environment that a team can write: the group of its owner only counts as the owner's where the system's lists say so.
  REQUIRE(test::as_user(test::second_user, [&] {
            fs::create_directory(folder / "environment");
            folder.write("environment/file", "");
            return std::string("made");
          }) == "made");
  CHECK(doubt_of_second(folder / "environment/file") == "");
  REQUIRE(chmod((folder / "environment").c_str(), 0775) == 0);
  CHECK(mentions(doubt_of_second(folder / "environment/file"), "others can write"));
  REQUIRE(chown((folder / "environment").c_str(), test::second_user, 0) == 0);
  CHECK(doubt_of_second(folder / "environment/file") == "");
}

TEST_CASE("the owner of a library counts where nobody else could change it") {
  if (!test::can_be_other_users()) {
    MESSAGE(test::skipped_without_root);
    return;
  }
  const TemporaryFolder folder;
  folder.write("lib/library.so", "");
  REQUIRE(chmod(folder.path().c_str(), 0755) == 0);
  const fs::path library = folder / "lib/library.so";
  CHECK(installation_owner(library) == 0U);
  REQUIRE(chown(library.c_str(), test::second_user, 0) == 0);
  CHECK(installation_owner(library) == test::second_user);
  REQUIRE(chown((folder / "lib").c_str(), test::third_user, 0) == 0);
  CHECK_FALSE(installation_owner(library).has_value());
  REQUIRE(chown((folder / "lib").c_str(), test::second_user, 0) == 0);
  CHECK(installation_owner(library) == test::second_user);
  REQUIRE(chmod((folder / "lib").c_str(), 01777) == 0);
  CHECK_FALSE(installation_owner(library).has_value());
}

TEST_CASE("the system's lists tell which group is a user's private one") {
  if (!test::can_be_other_users()) {
    MESSAGE(test::skipped_without_root);
    return;
  }
  constexpr unsigned daemon = 1;
  const passwd* entry = getpwuid(daemon);
  if (entry == nullptr || std::string(entry->pw_name) != "daemon" || entry->pw_gid != daemon) {
    MESSAGE("skipped: no user daemon with a group of its own");
    return;
  }
  const auto judged = [](unsigned user) {
    return test::as_user(user, [] {
      std::string groups;
      for (const unsigned group : {0U, daemon, 2U, test::second_user}) groups += PathProbe().is_private_group(group) ? "+" : "-";
      return groups;
    });
  };
  CHECK(judged(daemon) == "++--");
  CHECK(judged(test::second_user) == "+---");  // a user that no list knows
}

TEST_CASE("a group is no private one where it has another name or another member, or is not the user's first") {
  if (!test::can_be_other_users()) {
    MESSAGE(test::skipped_without_root);
    return;
  }
  const TemporaryFolder folder;
  REQUIRE(chmod(folder.path().c_str(), 0755) == 0);
  // In a mount namespace the lists are these: a user named anne, and a group of her number.
  const auto judged = [&](unsigned first_group, const std::string& group, const std::string& members) {
    folder.write("passwd", fmt::format("anne:x:{}:{}::/:/bin/sh\n", test::second_user, first_group));
    folder.write("group", fmt::format("{}:x:{}:{}\n", group, test::second_user, members));
    return test::as_user(test::second_user, [&] {
      if (!enter_namespaces()) return std::string("no user namespace: ") + std::strerror(errno);
      for (const char* list : {"passwd", "group"})
        if (mount((folder / list).c_str(), (fs::path("/etc") / list).c_str(), nullptr, MS_BIND, nullptr) != 0)
          return std::string("no mount: ") + std::strerror(errno);
      return std::string(PathProbe().is_private_group(test::second_user) ? "private" : "shared");
    });
  };
  const std::string alone = judged(test::second_user, "anne", "");
  if (alone.starts_with("no ")) {
    MESSAGE("skipped: ", alone);
    return;
  }
  CHECK(alone == "private");
  CHECK(judged(test::second_user, "anne", "anne") == "private");
  CHECK(judged(test::second_user, "anne", "anne,bert") == "shared");
  CHECK(judged(test::second_user, "team", "") == "shared");
  CHECK(judged(100, "anne", "") == "shared");
}

TEST_CASE("on a disk an owner outside the user namespace is accepted on a read-only mount only") {
  if (!test::can_be_other_users()) {
    MESSAGE(test::skipped_without_root);
    return;
  }
  const TemporaryFolder folder;
  REQUIRE(chmod(folder.path().c_str(), 0755) == 0);
  folder.write("image/file", "");
  const std::string image = folder / "image";
  // In the namespace the second user is all there is, and root's files belong to nobody. Its root folder is the image.
  const std::string said = test::as_user(test::second_user, [&] {
    if (!enter_namespaces()) return std::string("no user namespace: ") + std::strerror(errno);
    constexpr unsigned long read_only = MS_REMOUNT | MS_BIND | MS_RDONLY;
    const bool mounted = mount(image.c_str(), image.c_str(), nullptr, MS_BIND, nullptr) == 0;
    if (!mounted || chroot(image.c_str()) != 0 || chdir("/") != 0) return std::string("no mount: ") + std::strerror(errno);
    const std::string before = trusted_path("/file").doubt;
    const bool remounted =
        mount(nullptr, "/", nullptr, read_only, nullptr) == 0 || mount(nullptr, "/", nullptr, read_only | MS_NOSUID | MS_NODEV, nullptr) == 0;
    if (!remounted) return std::string("no read-only mount: ") + std::strerror(errno);
    return before + "|" + trusted_path("/file").doubt;
  });
  if (said.starts_with("no ")) {
    MESSAGE("skipped: ", said);
    return;
  }
  CHECK(said == "/ belongs to a user that this user namespace does not know|");
}
