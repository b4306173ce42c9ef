// Whose files are used from where: several users, sticky folders, links.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/environment.hpp"
#include "base/trusted_path.hpp"
#include "cache/location.hpp"
#include "cache/signature.hpp"
#include "contains.hpp"
#include "unit/cache/fixture.hpp"
#include "unit/second_user.hpp"

using namespace vostok;
using namespace vostok::cache;
using namespace vostok::cache::testing;
using test::contains;
namespace fs = std::filesystem;

namespace {

constexpr const char* copy_of_a_program = "VOSTOK_TEST_COPY";

void fill(const fs::path& folder, const std::string& key = "key", const std::string& tile_rows = "8") {
  Opening opening(in_folder(folder));
  opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner(tile_rows));
  opening.code().put(sample_entry(key), sample_image());
}

/// Gives the folder and its files to that user, for everybody to read.
void give(const fs::path& folder, unsigned user) {
  REQUIRE(chown(folder.c_str(), user, 0) == 0);
  fs::permissions(folder, fs::perms(0755));
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    REQUIRE(chown(entry.path().c_str(), user, 0) == 0);
    fs::permissions(entry.path(), fs::perms(0644));
  }
}

/// What a cache serves, in one line: "tile 8, kernel, 0 warnings".
std::string served(const CacheOptions& options, const std::string& key = "key") {
  Opening opening(options);
  const std::string tile = tile_found(opening);
  std::string text =
      (tile.empty() ? "no tile" : "tile " + tile) + (opening.code().find(key) ? ", kernel, " : ", no kernel, ");
  text += std::to_string(*opening.warnings) + " warnings";
  for (const std::string& line : *opening.lines) text += "\n" + line;
  return text;
}

/// The same for a second user, whose own folder is not there.
std::string served_to_second(CacheOptions options) {
  options.enabled = true;
  return test::as_user(test::second_user, [&] { return served(options); });
}

/// A folder that everybody reads, in it a sticky one that everybody writes.
struct Scratch : TemporaryFolder {
  Scratch() {
    fs::permissions(path(), fs::perms(0755));
    fs::create_directory(sticky());
    fs::permissions(sticky(), fs::perms(01777));
  }
  fs::path sticky() const { return path() / "sticky"; }
};

std::string shipped_for_second(const fs::path& program) {
  return test::as_user(test::second_user, [&] {
    const auto found = shipped_folder(PathProbe(), program);
    if (!found) return std::string("none");
    return found->is_trusted() ? "trusted" : found->doubt;
  });
}

}  // namespace

TEST_CASE("another user's shipped folder beside a program in a sticky folder is not used") {
  if (!test::can_be_other_users()) {
    MESSAGE(test::skipped_without_root);
    return;
  }
  const Scratch scratch;
  const fs::path program = scratch.sticky() / "bin" / "program";
  fs::create_directory(program.parent_path());
  write_file(program, "");
  give(program.parent_path(), test::second_user);
  CHECK(shipped_for_second(program) == "none");
  const fs::path share = scratch.sticky() / "share";
  SUBCASE("a folder") {
    fs::create_directories(share / "vostok");
    fill(share / "vostok");
    give(share / "vostok", test::third_user);
    give(share, test::third_user);
    CHECK(contains(shipped_for_second(program), "share belongs to user 4712, not to 4711"));
  }
  SUBCASE("a folder of root's below another's") {
    fs::create_directories(share / "vostok");
    give(share, test::third_user);
    REQUIRE(chown((share / "vostok").c_str(), 0, 0) == 0);
    CHECK(contains(shipped_for_second(program), "share belongs to user 4712"));
  }
  SUBCASE("a link to a trusted folder") {
    fs::create_directories(scratch / "trusted" / fs::path("vostok"));
    fs::create_symlink(scratch / "trusted", share);
    REQUIRE(lchown(share.c_str(), test::third_user, 0) == 0);
    CHECK(contains(shipped_for_second(program), "share belongs to user 4712"));
  }
  SUBCASE("a library of the second user makes its owner no more than the second user") {
    fs::create_directories(share / "vostok");
    give(share / "vostok", test::second_user);
    give(share, test::second_user);
    CHECK(shipped_for_second(program) == "trusted");
    fs::permissions(share / "vostok", fs::perms(01777));
    CHECK(contains(shipped_for_second(program), "others can write"));
  }
}

TEST_CASE("what a third user installed is used by whoever runs its library, where only the third user can write it") {
  if (!test::can_be_other_users()) {
    MESSAGE(test::skipped_without_root);
    return;
  }
  const Scratch scratch;
  const fs::path prefix = scratch.path() / "prefix";
  fs::create_directories(prefix / "share" / "vostok");
  fs::create_directories(prefix / "lib");
  write_file(prefix / "lib" / "library.so", "");
  for (const char* folder : {"share/vostok", "share", "lib", ""}) give(prefix / folder, test::third_user);
  CHECK(shipped_for_second(prefix / "lib" / "library.so") == "trusted");
  SUBCASE("not where others can write the library") {
    fs::permissions(prefix / "lib" / "library.so", fs::perms(0666));
    CHECK(contains(shipped_for_second(prefix / "lib" / "library.so"), "belongs to user 4712"));
  }
  SUBCASE("not what a fourth user put there") {
    REQUIRE(chown((prefix / "share" / "vostok").c_str(), 4713, 0) == 0);
    CHECK(contains(shipped_for_second(prefix / "lib" / "library.so"), "vostok belongs to user 4713"));
  }
}

TEST_CASE("a program without options runs the kernels of its own installation and of no other user") {
  if (const char* folder =
          std::getenv(copy_of_a_program)) {  // this executable again, which the lines below have started
    CacheOptions options;
    options.folder = folder;
    MESSAGE(served(options));
    return;
  }
  if (!test::can_be_other_users()) {
    MESSAGE(test::skipped_without_root);
    return;
  }
  const Scratch scratch;
  fs::create_directory(scratch / "own");
  give(scratch / "own", test::second_user);
  fs::path prefix = scratch.sticky();
  const auto ran = [&] {
    return test::run_copy_as(test::second_user, prefix / "bin" / "program", "a program without options*",
                             {std::string(copy_of_a_program) + "=" + (scratch / "own").string()});
  };
  const auto install = [&] {
    fs::create_directories(prefix / "bin");
    test::copy_self(prefix / "bin" / "program");
    fs::create_directories(prefix / "share" / "vostok");
    fill(prefix / "share" / "vostok");
    give(prefix / "share" / "vostok", test::third_user);
    give(prefix / "share", test::third_user);
  };
  SUBCASE("root's program below a sticky folder, and a third user's share beside it") {
    install();
    const std::string said = ran();
    CHECK(contains(said, "no tile, no kernel, 1 warnings"));
    CHECK(contains(said, "share/vostok is not used"));
    CHECK(contains(said, "belongs to user 4712, not to 4711"));
  }
  SUBCASE("a third user's whole installation") {
    prefix = scratch.path() / "prefix";
    install();
    give(prefix / "bin", test::third_user);
    fs::permissions(prefix / "bin" / "program", fs::perms(0755));
    give(prefix, test::third_user);
    CHECK(contains(ran(), "tile 8, kernel, 0 warnings"));
    REQUIRE(chown((prefix / "share" / "vostok" / "code.db").c_str(), 4713, 0) == 0);
    CHECK(contains(ran(), "tile 8, no kernel, 1 warnings"));
  }
}

TEST_CASE("a cache that root made is read by another user and not written") {
  if (!test::can_be_other_users()) {
    MESSAGE(test::skipped_without_root);
    return;
  }
  const Scratch scratch;
  const fs::path folder = scratch.path() / "cache";
  fill(folder);
  give(folder, 0);
  const std::string before = contents(folder / "code.db");
  const auto options = in_folder(folder);
  const std::string text = test::as_user(test::second_user, [&] {
    Opening opening(options);
    opening.code().put(sample_entry("new"), sample_image());
    const bool both = opening.code().find("key") && opening.code().find("new");
    return tile_found(opening) + (both ? " both " : " not both ") + std::to_string(*opening.warnings) +
           opening.layer("code.db")->state;
  });
  CHECK(text == "8 both 1in use, read-only");
  CHECK(contents(folder / "code.db") == before);
  SUBCASE("a third user's is ignored") {
    give(folder, test::third_user);
    CHECK(contains(served_to_second(options), "no tile, no kernel, 1 warnings"));
    CHECK(contains(served_to_second(options), "cache belongs to user 4712, not to 4711"));
  }
  SUBCASE("a file that a third user put there is not") {
    REQUIRE(chown((folder / "code.db").c_str(), test::third_user, 0) == 0);
    CHECK(contains(served_to_second(options), "tile 8, no kernel, 2 warnings"));
  }
  SUBCASE("as a layer it needs no warning") {
    auto layer = in_folder(scratch.sticky() / "second");
    layer.read_only = {folder};
    CHECK(contains(served_to_second(layer), "tile 8, kernel, 0 warnings"));
  }
}

TEST_CASE("a linked cache folder or file is used where every link is the user's or root's") {
  const Scratch scratch;
  fill(scratch / "real");
  fs::create_directory_symlink("real", scratch / "link");
  CHECK(served(in_folder(scratch / "link")) == "tile 8, kernel, 0 warnings");
  {
    Opening opening(in_folder(scratch / "link"));
    opening.code().put(sample_entry("new"), sample_image());
  }
  CHECK(served(in_folder(scratch / "real"), "new") == "tile 8, kernel, 0 warnings");
  SUBCASE("a linked file is written, and set aside, where it lies") {
    fs::create_directory(scratch / "own");
    fs::permissions(scratch / "own", fs::perms(0700));
    fs::create_symlink("../real/code.db", scratch / "own" / fs::path("code.db"));
    CHECK(served(in_folder(scratch / "own")) == "no tile, kernel, 0 warnings");
    write_file(scratch / "real" / fs::path("code.db"), std::string(5000, 'z'));
    CHECK(contains(served(in_folder(scratch / "own")), "no tile, no kernel, 1 warnings"));
    CHECK(entries_like(scratch / "real", "code.db.damaged") == 1);
    CHECK(fs::is_symlink(scratch / "own" / fs::path("code.db")));
  }
  SUBCASE("a link that leads nowhere is not followed") {
    fs::create_directory(scratch / "own");
    fs::permissions(scratch / "own", fs::perms(0700));
    fs::create_symlink(scratch / "nowhere.db", scratch / "own" / fs::path("code.db"));
    CHECK(contains(served(in_folder(scratch / "own")), "nowhere.db is not there"));
    CHECK_FALSE(fs::exists(scratch / "nowhere.db"));
  }
  SUBCASE("another user's link is not") {
    if (!test::can_be_other_users()) {
      MESSAGE(test::skipped_without_root);
      return;
    }
    REQUIRE(lchown((scratch / "link").c_str(), test::third_user, 0) == 0);
    CHECK(contains(served(in_folder(scratch / "link")), "link belongs to user 4712, not to 0"));
  }
}

TEST_CASE("rows come from any place, kernels from a trusted one or with a signature") {
  const Scratch scratch;
  fill(scratch / "layer");
  const SigningKey key = make_signing_key();
  auto options = in_folder(scratch / "user");
  fs::path layer = scratch / "layer";
  SUBCASE("the folder is anybody's to write") { fs::permissions(layer, fs::perms(0777)); }
  SUBCASE("the files lie in a sticky folder") { fs::permissions(layer, fs::perms(01777)); }
  SUBCASE("the files are anybody's to write") {
    for (const char* name : {"tuning.db", "code.db"}) fs::permissions(layer / name, fs::perms(0666));
  }
  SUBCASE("a folder above is anybody's to write") {
    fs::permissions(scratch.sticky(), fs::perms(0777));
    fs::rename(layer, scratch.sticky() / "layer");
    layer = scratch.sticky() / "layer";
  }
  SUBCASE("the folder is another user's") {
    if (!test::can_be_other_users()) {
      MESSAGE(test::skipped_without_root);
      return;
    }
    fs::rename(layer, scratch.sticky() / "layer");
    layer = scratch.sticky() / "layer";
    give(layer, test::third_user);
  }
  for (const bool as_files : {false, true}) {
    CAPTURE(as_files);
    options.trusted_keys.clear();
    if (as_files) options.read_only = {layer / "tuning.db", layer / "code.db"};
    else options.read_only = {layer};
    const std::string unsigned_text = served(options);
    CHECK(contains(unsigned_text, "tile 8, no kernel, 1 warnings"));
    CHECK(contains(unsigned_text, "need the signature of a trusted key"));
    sign_file(layer / "code.db", key);
    CHECK(contains(served(options), "tile 8, no kernel, 1 warnings"));
    options.trusted_keys = {key.public_key.hex};
    CHECK(served(options) == "tile 8, kernel, 0 warnings");
    fs::remove(signature_path(layer / "code.db"));
  }
}

TEST_CASE("VOSTOK_READ_ONLY_CACHE names layers that are asked after the option's") {
  const Scratch scratch;
  fill(scratch / "a", "a", "2");
  fill(scratch / "b", "b", "4");
  const std::string list = (scratch / "b").string() + "::" + (scratch / "a" / fs::path("code.db")).string();
  setenv("VOSTOK_READ_ONLY_CACHE", list.c_str(), 1);
  auto options = in_folder(scratch / "user");
  options.environment = true;
  CHECK(served(options, "a") == "tile 4, kernel, 0 warnings");
  CHECK(served(options, "b") == "tile 4, kernel, 0 warnings");
  options.read_only = {scratch / "a"};
  CHECK(served(options, "b") == "tile 2, kernel, 0 warnings");
  options.environment = false;
  CHECK(served(options, "b") == "tile 2, no kernel, 0 warnings");
  options = in_folder(scratch / "user");
  options.environment = true;
  setenv("VOSTOK_READ_ONLY_CACHE", (scratch / "absent").c_str(), 1);
  CHECK(contains(served(options), "absent is not used: not there"));
  unsetenv("VOSTOK_READ_ONLY_CACHE");
}

TEST_CASE("a set-user-ID program takes no cache that a variable names") {
  if (const char* layer =
          std::getenv(copy_of_a_program)) {  // this executable again, which the lines below have started
    if (!test::has_rights_of_its_file()) {
      MESSAGE(test::without_rights_of_its_file);
      return;
    }
    CHECK(privileges_are_raised());
    CHECK_FALSE(locate({}).folder.has_value());
    CHECK(contains(locate({}).from, "privileges are raised"));
    auto options = in_folder("/nonexistent/vostok");
    options.environment = true;
    CHECK(contains(served(options), "no tile, no kernel, 1 warnings"));
    options.read_only = {layer};
    CHECK(contains(served(options), "tile 8, kernel, 1 warnings"));
    return;
  }
  if (!test::can_be_other_users()) {
    MESSAGE(test::skipped_without_root);
    return;
  }
  const Scratch scratch;
  const std::string layer = scratch / "layer";
  fill(layer);
  give(layer, 0);
  const fs::path program = scratch / "program";
  test::copy_self(program);
  REQUIRE(chown(program.c_str(), test::third_user, 0) == 0);
  REQUIRE(chmod(program.c_str(), 04755) == 0);
  const std::string said =
      test::run_copy_as(test::second_user, program, "a set-user-ID program takes no cache*",
                        {std::string(copy_of_a_program) + "=" + layer, "VOSTOK_READ_ONLY_CACHE=" + layer,
                         "VOSTOK_CACHE_DIR=" + layer, "XDG_CACHE_HOME=" + layer, "HOME=" + layer});
  if (contains(said, test::without_rights_of_its_file) || contains(said, "error while loading")) {
    MESSAGE(test::without_rights_of_its_file, ": ", said);
    return;
  }
  CHECK_MESSAGE(said.starts_with("passed: "), said);
}
