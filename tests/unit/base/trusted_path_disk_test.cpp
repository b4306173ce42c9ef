// Which places are trusted on a disk, with files of several users.
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

#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "base/trusted_path.hpp"
#include "contains.hpp"
#include "unit/second_user.hpp"

using namespace vostok;
using test::contains;
namespace fs = std::filesystem;

namespace {

/// Of users, of whom the second user is all there is, and of mounts. A process that has changed its user may not say
/// who is mapped until it may be looked into again.
bool enter_namespaces() {
  if (prctl(PR_SET_DUMPABLE, 1) != 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  std::ofstream map("/proc/self/uid_map");
  map << test::second_user << ' ' << test::second_user << " 1" << std::flush;
  return map.good() && geteuid() == test::second_user;
}

}  // namespace

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
  CHECK(contains(trusted_path(folder / "link/file").doubt, "others can write"));
  REQUIRE(chmod((folder / "mine").c_str(), 01777) == 0);
  CHECK(contains(trusted_path(folder / "link/file").doubt, "(mode 1777)"));
  REQUIRE(chmod((folder / "mine").c_str(), 0755) == 0);
  REQUIRE(chmod((folder / "mine/file").c_str(), 0646) == 0);
  CHECK(contains(trusted_path(file).doubt, "(mode 646)"));
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
  const unsigned char list[] = {2, 0,    0,    0,    1,    0,    6,  0, 0xff, 0xff, 0xff, 0xff, 2,    0,   6,
                                0, 0x67, 0x12, 0,    0,    4,    0,  4, 0,    0xff, 0xff, 0xff, 0xff, 16,  0,
                                6, 0,    0xff, 0xff, 0xff, 0xff, 32, 0, 4,    0,    0xff, 0xff, 0xff, 0xff};
  if (setxattr((folder / "file").c_str(), "system.posix_acl_access", list, sizeof list, 0) != 0) {
    MESSAGE("skipped: no access list can be set here: ", std::strerror(errno));
    return;
  }
  CHECK(contains(trusted_path(folder / "file").doubt, "others can write"));
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
  const auto doubt_of_second = [&](const fs::path& path) {
    return test::as_user(test::second_user, [&] { return trusted_path(path).doubt; });
  };
  REQUIRE(test::as_user(test::third_user, [&] {
            fs::create_directory(folder / "theirs");
            folder.write("theirs/file", "");
            fs::create_symlink(roots, folder / "to-roots");
            return std::string("made");
          }) == "made");
  CHECK(doubt_of_second(roots) == "");
  CHECK(contains(doubt_of_second(folder / "theirs/file"), "belongs to user 4712, not to 4711"));
  CHECK(contains(doubt_of_second(folder / "to-roots"), "to-roots belongs to user 4712"));
  CHECK(contains(trusted_path(folder / "theirs/file").doubt, "belongs to user 4712, not to 0"));
  // A virtual environment that a team can write: the group of its owner only counts as the owner's where the system's
  // lists say so.
  REQUIRE(test::as_user(test::second_user, [&] {
            fs::create_directory(folder / "environment");
            folder.write("environment/file", "");
            return std::string("made");
          }) == "made");
  CHECK(doubt_of_second(folder / "environment/file") == "");
  REQUIRE(chmod((folder / "environment").c_str(), 0775) == 0);
  CHECK(contains(doubt_of_second(folder / "environment/file"), "others can write"));
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
      for (const unsigned group : {0U, daemon, 2U, test::second_user})
        groups += PathProbe().is_private_group(group) ? "+" : "-";
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
    if (!mounted || chroot(image.c_str()) != 0 || chdir("/") != 0)
      return std::string("no mount: ") + std::strerror(errno);
    const std::string before = trusted_path("/file").doubt;
    const bool remounted = mount(nullptr, "/", nullptr, read_only, nullptr) == 0 ||
                           mount(nullptr, "/", nullptr, read_only | MS_NOSUID | MS_NODEV, nullptr) == 0;
    if (!remounted) return std::string("no read-only mount: ") + std::strerror(errno);
    return before + "|" + trusted_path("/file").doubt;
  });
  if (said.starts_with("no ")) {
    MESSAGE("skipped: ", said);
    return;
  }
  CHECK(said == "/ belongs to a user that this user namespace does not know|");
}
