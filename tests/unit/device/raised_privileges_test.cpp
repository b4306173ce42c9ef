// A program with more privileges than who started it: no variable chooses what it runs or loads.
#include <doctest/doctest.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/temporary_folder.hpp"
#include "device/cuda/driver_library.hpp"
#include "device/cuda/nvrtc_places.hpp"
#include "device/emulator/host_compiler.hpp"
#include "unit/device/cuda_fixture.hpp"
#include "unit/device/emulator_harness.hpp"
#include "unit/second_user.hpp"

#ifdef __SANITIZE_ADDRESS__
/// Looking for leaks takes tracing the process, which nobody may where it has raised privileges. No variable can say so
/// there.
extern "C" const char*
__asan_default_options() {  // NOLINT(bugprone-reserved-identifier): the name that the sanitizer asks
  return getauxval(AT_SECURE) != 0 ? "detect_leaks=0" : "";
}
#endif

using namespace vostok;
using namespace vostok::test;
using device::emulator::host_compiler_command;
using device::emulator::open_host_compiler;
namespace fs = std::filesystem;

namespace {

constexpr const char* started_by_test = "VOSTOK_TEST_RAISED_DEVICE";

const emulator_test::TestKernel kernel = {
    .text = "struct Args { int* x; };\n__global__ void kernel(const __grid_constant__ Args args) { *args.x = 3; }\n"};

/// A folder of programs that leave a mark where they are run.
class Planted {
 public:
  Planted() {
    for (const char* name :
         {"c++", "g++", "cc1plus", "as", "ld", "collect2", "x86_64-linux-gnu-as", "x86_64-linux-gnu-ld"}) {
      fs::permissions(
          folder_.write(name, "#!/bin/sh\necho " + std::string(name) + " >> '" + mark().string() + "'\nexit 1\n"),
          fs::perms::owner_all);
    }
  }
  fs::path mark() const { return folder_ / "mark"; }
  std::string path(const std::string& name = {}) const { return (folder_ / name).string(); }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("with privileges raised the emulator's compiler is the system's, and no variable tells it what to run") {
  if (!fs::exists("/usr/bin/c++")) {
    MESSAGE("skipped: this system has no /usr/bin/c++");
    return;
  }
  const Planted planted;
  const VariableScope own("VOSTOK_CXX", planted.path("c++"));
  const VariableScope cxx("CXX", planted.path("g++"));
  const VariableScope path("PATH", planted.path() + ":/usr/bin:/bin");
  const VariableScope prefix("GCC_EXEC_PREFIX", planted.path() + "/");
  const VariableScope programs("COMPILER_PATH", planted.path());
  CHECK(host_compiler_command(true) == "/usr/bin/c++");
  CHECK(host_compiler_command(false) == planted.path("c++"));
  const device::Image image = emulator_test::compile(*open_host_compiler(true), kernel);
  CHECK(image.binary.starts_with("\177ELF"));
  CHECK_FALSE(fs::exists(planted.mark()));
  CHECK_THROWS_AS(open_host_compiler(false), Error);
  CHECK(fs::exists(planted.mark()));  // they would have
}

TEST_CASE("a set-user-ID program opens no driver, NVRTC or compiler that a variable names") {
  if (std::getenv(started_by_test) != nullptr) {  // this executable again, which the case below has started
    if (!has_rights_of_its_file()) {
      MESSAGE(without_rights_of_its_file);
      return;
    }
    CHECK(privileges_are_raised());
    for (const auto& place : device::cuda::nvrtc_places(std::nullopt))
      CHECK_FALSE(contains(place.pattern, "/of-user/"));
    for (const auto& finding : device::cuda::DriverSearch::run().findings)
      CHECK_FALSE(contains(finding.where, "/of-user/"));
    CHECK(host_compiler_command() == "/usr/bin/c++");
    return;
  }
  if (!can_be_other_users()) {
    MESSAGE(skipped_without_root);
    return;
  }
  const TemporaryFolder folder;
  const fs::path program = folder / "program";
  fs::copy_file("/proc/self/exe", program);
  REQUIRE(chmod(folder.path().c_str(), 0755) == 0);
  REQUIRE(chown(program.c_str(), third_user, 0) == 0);
  REQUIRE(chmod(program.c_str(), 04755) == 0);
  const std::string said = as_user(second_user, [&] {
    for (const char* variable :
         {started_by_test, "VOSTOK_NVRTC", "VOSTOK_LIBCUDA", "VOSTOK_CXX", "CXX", "CUDA_HOME", "VIRTUAL_ENV", "HOME"})
      setenv(variable, "/of-user/thing", 1);
    FILE* const output = popen((program.string() + " '-tc=a set-user-ID program opens*' 2>&1").c_str(), "r");
    if (output == nullptr) return std::string("failed: cannot start it");
    std::string text;
    for (int byte = 0; (byte = std::fgetc(output)) != EOF;) text += static_cast<char>(byte);
    return (pclose(output) == 0 ? "passed: " : "failed: ") + text;
  });
  // Where the folder's mount takes no set-user-ID programs, or the libraries may not be read by others, nothing can be
  // said.
  if (contains(said, without_rights_of_its_file) || contains(said, "error while loading")) {
    MESSAGE(without_rights_of_its_file, ": ", said);
    return;
  }
  CHECK_MESSAGE(said.starts_with("passed: "), said);
  CHECK(contains(said, "1 passed"));
}
