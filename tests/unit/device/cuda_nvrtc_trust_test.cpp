// Whose NVRTC is loaded: what the search finds must lie where nobody but root and the user can put or exchange it.
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <stdexcept>

#include "base/temporary_folder.hpp"
#include "contains.hpp"
#include "device/cuda/nvrtc_library.hpp"
#include "unit/child_outcome.hpp"
#include "unit/device/cuda_fixture.hpp"
#include "unit/flushed_fork.hpp"
#include "unit/second_user.hpp"

using namespace vostok;
using namespace vostok::test;
using device::cuda::nvrtc_places;
using device::cuda::NvrtcPlace;
using device::cuda::NvrtcSearch;
namespace fs = std::filesystem;

namespace {

constexpr const char* wheel = "lib/python3.11/site-packages/nvidia/cu12/lib";
/// Thrown where folders cannot be hidden.
constexpr const char* unavailable = "no mount namespace";

/// A folder that everybody can enter, so that only what the test does to it decides.
struct Scratch {
  TemporaryFolder folder;
  fs::path root = folder / "root";
  Scratch() {
    fs::create_directory(root);
    REQUIRE(chmod(folder.path().c_str(), 0755) == 0);
    REQUIRE(chmod(root.c_str(), 0755) == 0);
  }
  /// A library that works, and its builtins beside it.
  fs::path library(const fs::path& lib) const {
    fs::create_directories(root / lib);
    fs::copy_file(beside_executable("fake_nvrtc.so"), root / lib / "libnvrtc.so.12");
    fs::copy_file(beside_executable("fake_cuda.so"), root / lib / "libnvrtc-builtins.so.12.1");
    for (fs::path path = root / lib; path != root; path = path.parent_path()) REQUIRE(chmod(path.c_str(), 0755) == 0);
    for (const char* name : {"libnvrtc.so.12", "libnvrtc-builtins.so.12.1"})
      REQUIRE(chmod((root / lib / name).c_str(), 0644) == 0);
    return root / lib / "libnvrtc.so.12";
  }
  /// What the search finds in a virtual environment; other places are left out, whatever this machine has there.
  NvrtcSearch in_environment(const fs::path& environment) const {
    const VariableScope none("VOSTOK_NVRTC", std::nullopt);
    const VariableScope variable("VIRTUAL_ENV", environment.string());
    return search_below();
  }
  NvrtcSearch in_named_toolkit(const fs::path& toolkit) const {
    const VariableScope none("VOSTOK_NVRTC", std::nullopt);
    const VariableScope variable("CUDA_HOME", toolkit.string());
    return search_below();
  }
  NvrtcSearch search_below() const {
    std::vector<NvrtcPlace> places = nvrtc_places(std::nullopt);
    std::erase_if(places, [&](const NvrtcPlace& place) { return !place.pattern.starts_with(root.string()); });
    REQUIRE_FALSE(places.empty());
    return NvrtcSearch::run(places);
  }
};

/// Whether this process has loaded something below the folder.
bool has_loaded(const fs::path& folder) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (contains(line, folder.string())) return true;
  return false;
}

/// Nothing was loaded, and the reason is among the findings.
void check_refused(const NvrtcSearch& search, const Scratch& scratch, const std::string& reason) {
  CHECK_FALSE(search.nvrtc);
  CHECK_FALSE(has_loaded(scratch.root));
  std::string all;
  for (const device::Finding& finding : search.findings) all += finding.where + ": " + finding.state + "\n";
  CHECK_MESSAGE(contains(all, "ignored: "), all);
  CHECK_MESSAGE(contains(all, reason), all);
}

void check_used(const NvrtcSearch& search, const fs::path& library) {
  REQUIRE(search.nvrtc);
  CHECK(search.nvrtc->path() == library.string());
  CHECK(search.findings.back().used);
}

}  // namespace

TEST_CASE(
    "NVRTC of a virtual environment that a group can write is refused with the reason, unless the group is the user's "
    "own") {
  const Scratch scratch;
  const fs::path library = scratch.library(fs::path("venv") / wheel);
  const fs::path environment = scratch.root / "venv";
  if (!can_be_other_users()) {
    MESSAGE(skipped_without_root);
    return;
  }
  constexpr gid_t group_of_several = 100;
  for (const fs::path& place : {environment, library.parent_path(), library}) {
    CAPTURE(place.string());
    REQUIRE(chown(place.c_str(), 0, group_of_several) == 0);
    REQUIRE(chmod(place.c_str(), 0775) == 0);
    check_refused(scratch.in_environment(environment), scratch, "others can write " + place.string());
    REQUIRE(chown(place.c_str(), 0, 0) == 0);  // root's own group
  }
  check_used(scratch.in_environment(environment), library);
}

TEST_CASE("NVRTC of an environment that anyone can write is refused, at each folder on the way") {
  const Scratch scratch;
  const fs::path library = scratch.library(fs::path("venv") / wheel);
  for (fs::path place = library; place != scratch.root; place = place.parent_path()) {
    CAPTURE(place.string());
    const mode_t mode = place == library ? 0644 : 0755;
    REQUIRE(chmod(place.c_str(), mode | S_IWOTH) == 0);
    check_refused(scratch.in_environment(scratch.root / "venv"), scratch, "others can write " + place.string());
    REQUIRE(chmod(place.c_str(), mode) == 0);
  }
  check_used(scratch.in_environment(scratch.root / "venv"), library);
}

TEST_CASE(
    "NVRTC below a sticky folder is loaded where the user made it, and not where another user did or can add to it") {
  const Scratch scratch;
  const fs::path library = scratch.library(fs::path("sticky/venv") / wheel);
  const fs::path environment = scratch.root / "sticky/venv";
  REQUIRE(chmod((scratch.root / "sticky").c_str(), 01777) == 0);
  SUBCASE("its own") { check_used(scratch.in_environment(environment), library); }
  SUBCASE("the library's own folder is sticky") {
    REQUIRE(chmod(library.parent_path().c_str(), 01777) == 0);
    check_refused(scratch.in_environment(environment), scratch, "others can write " + library.parent_path().string());
  }
  SUBCASE("another user's") {
    if (!can_be_other_users()) {
      MESSAGE(skipped_without_root);
      return;
    }
    const fs::path builtins = library.parent_path() / "libnvrtc-builtins.so.12.1";
    for (const fs::path& place : {library, builtins, library.parent_path(), environment}) {
      CAPTURE(place.string());
      REQUIRE(chown(place.c_str(), second_user, second_user) == 0);
      check_refused(scratch.in_environment(environment), scratch, place.string() + " belongs to user 4711");
      REQUIRE(chown(place.c_str(), 0, 0) == 0);
    }
  }
}

TEST_CASE("a link that another user exchanges while NVRTC is searched never gets its library loaded") {
  if (!can_be_other_users()) {
    MESSAGE(skipped_without_root);
    return;
  }
  const Scratch scratch;
  const fs::path good = scratch.library(fs::path("good") / wheel);
  const fs::path evil = scratch.library(fs::path("evil") / wheel);
  REQUIRE(chown(evil.c_str(), second_user, second_user) == 0);
  const fs::path sticky = scratch.root / "sticky";
  fs::create_directory(sticky);
  REQUIRE(chmod(sticky.c_str(), 01777) == 0);
  const fs::path link = sticky / "venv";
  const pid_t attacker = flushed_fork();
  if (attacker == 0) {
    if (setgroups(0, nullptr) != 0 || setresgid(second_user, second_user, second_user) != 0 ||
        setresuid(second_user, second_user, second_user) != 0)
      _exit(1);
    const std::string fresh = link.string() + ".new";
    const std::string targets[] = {(scratch.root / "good").string(), (scratch.root / "evil").string()};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (unsigned turn = 0;; ++turn) {
      unlink(fresh.c_str());
      if (symlink(targets[turn % 2].c_str(), fresh.c_str()) != 0 || rename(fresh.c_str(), link.c_str()) != 0) _exit(1);
    }
  }
  while (!fs::is_symlink(link)) usleep(1000);
  int used = 0;
  for (int round = 0; round < 300; ++round) used += scratch.in_environment(link).nvrtc ? 1 : 0;
  kill(attacker, SIGKILL);
  int status = 0;
  waitpid(attacker, &status, 0);
  CHECK(WIFSIGNALED(status));  // it was at work until now
  CHECK(used == 0);
  CHECK_FALSE(has_loaded(scratch.root / "evil"));
}

TEST_CASE("a toolkit behind several links is opened by the path that they lead to") {
  const Scratch scratch;
  const fs::path library = scratch.library("cuda-12.1/targets/x86_64-linux/lib");
  fs::create_symlink("cuda-12.1", scratch.root / "cuda-12");
  fs::create_symlink("cuda-12", scratch.root / "cuda");
  fs::create_symlink("targets/x86_64-linux/lib", scratch.root / "cuda-12.1/lib64");
  fs::create_symlink("libnvrtc.so.12", library.parent_path() / "libnvrtc.so");
  const auto found = NvrtcSearch::run({{.pattern = (scratch.root / "cuda/lib64/libnvrtc.so*").string()}});
  check_used(found, library);
  CHECK(found.findings.front().what == "nvrtc builtins");
  CHECK(found.findings.front().used);
}

TEST_CASE("what the user names is loaded from wherever it lies") {
  const Scratch scratch;
  const fs::path library = scratch.library("shared/lib64");
  for (const char* folder : {"shared", "shared/lib64"}) REQUIRE(chmod((scratch.root / folder).c_str(), 0777) == 0);
  SUBCASE("as a toolkit") { check_used(scratch.in_named_toolkit(scratch.root / "shared"), library); }
  SUBCASE("as a folder") { check_used(NvrtcSearch::run(nvrtc_places(library.parent_path())), library); }
  SUBCASE("by VOSTOK_NVRTC") {
    const VariableScope variable("VOSTOK_NVRTC", library.string());
    check_used(NvrtcSearch::run(nvrtc_places(std::nullopt)), library);
  }
}

TEST_CASE("with privileges raised no variable names a place of NVRTC") {
  const VariableScope chosen("VOSTOK_NVRTC", "/of-user/nvrtc");
  const VariableScope toolkit("CUDA_HOME", "/of-user/first");
  const VariableScope second("CUDA_PATH", "/of-user/second");
  const VariableScope environment("VIRTUAL_ENV", "/of-user/venv");
  const VariableScope conda("CONDA_PREFIX", "/of-user/conda");
  const VariableScope home("HOME", "/of-user/home");
  const auto names_user = [](const NvrtcPlace& place) { return contains(place.pattern, "/of-user/"); };
  const auto raised = nvrtc_places(std::nullopt, true);
  CHECK(raised.size() > 3);
  CHECK(std::none_of(raised.begin(), raised.end(), names_user));
  CHECK(nvrtc_places("/of-program/nvrtc", true).front().pattern == "/of-program/nvrtc");
  CHECK(nvrtc_places(std::nullopt, false).size() == 1);
  const VariableScope none("VOSTOK_NVRTC", std::nullopt);
  const auto usual = nvrtc_places(std::nullopt, false);
  CHECK(std::count_if(usual.begin(), usual.end(), names_user) == 9);
}

TEST_CASE(
    "an NVRTC in .wheels of the current folder or above the executable is neither looked for nor loaded, nor by the "
    "doctor") {
  const Scratch scratch;
  const fs::path library = scratch.library(".wheels/nvidia/cu12/lib");
  const ChildOutcome outcome = in_child([&] {
    // Toolkits of this machine would be found first: they are hidden.
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) throw std::runtime_error(unavailable);
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) throw std::runtime_error(unavailable);
    if (mount("none", "/usr/local", "tmpfs", 0, nullptr) != 0) throw std::runtime_error(unavailable);
    for (const char* name :
         {"VOSTOK_NVRTC", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH"})
      unsetenv(name);
    fs::current_path(scratch.root);
    for (const device::Finding& finding : device::find_cuda({}))
      if (contains(finding.where, ".wheels")) throw std::runtime_error("looked at " + finding.where);
    if (has_loaded(scratch.root)) throw std::runtime_error("loaded " + library.string());
  });
  if (contains(outcome.log, unavailable)) {
    MESSAGE("skipped: this process may not make a mount namespace, so toolkits cannot be hidden");
    return;
  }
  CHECK_MESSAGE((outcome.finished && !outcome.threw), outcome.log);
}
