// The emulator's compiler where descriptors are few, standard streams are closed, or a compiler never ends.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/temporary_folder.hpp"
#include "device/emulator/host_compiler.hpp"
#include "unit/device/cuda_fixture.hpp"
#include "unit/device/emulator_harness.hpp"

using namespace emulator_test;
using vostok::Error;
using vostok::ErrorCode;
using vostok::TemporaryFolder;
using vostok::device::Image;
using vostok::device::Kernel;
using vostok::device::emulator::open_emulator;
using vostok::device::emulator::open_host_compiler;
using vostok::test::Caught;
using vostok::test::caught;
using vostok::test::VariableScope;

namespace {

constexpr rlim_t few = 64;

struct Args {
  int* x;
};

TestKernel adding(int number) {
  return {.text = "struct Args { int* x; };\n__global__ void kernel(const __grid_constant__ Args args) { *args.x += " +
                  std::to_string(number) + "; }\n"};
}

int run(vostok::device::Device& device, const Kernel& kernel) {
  int x = 0;
  const Args args{&x};
  device.launch(nullptr, kernel, {}, &args, sizeof args);
  return x;
}

/// In place of a check: a child's failures reach the parent as its exception.
void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

void check_child(const std::function<void()>& body) {
  const ChildOutcome outcome = in_child(body);
  CHECK_MESSAGE((outcome.finished && !outcome.threw), outcome.log);
}

void limit_descriptors() {
  const rlimit limit{.rlim_cur = few, .rlim_max = few};
  require(setrlimit(RLIMIT_NOFILE, &limit) == 0, "cannot limit descriptors");
}

/// All that are left but `spare`.
void take_descriptors(int spare) {
  std::vector<int> taken;
  for (int descriptor = 0; (descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken.push_back(descriptor);
  for (int i = 0; i < spare; ++i) close(taken.at(taken.size() - 1 - static_cast<std::size_t>(i)));
}

/// A compiler that answers questions as c++ does, but does `instead` of what `when` matches of its arguments.
std::string script(const TemporaryFolder& folder, const std::string& when, const std::string& instead) {
  const auto path =
      folder.write("compiler", "#!/bin/sh\ncase \"$*\" in " + when + ") " + instead + ";; esac\nexec c++ \"$@\"\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path.string();
}

/// Whether the process runs: one that has ended may wait to be collected.
bool lives(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  std::string text;
  return std::getline(file, text) && text.find(") Z") == std::string::npos;
}

}  // namespace

TEST_CASE("with 64 descriptors kernels compile, load and run, and more of them than that stay loaded") {
  if (has_address_sanitizer || has_thread_sanitizer) {
    MESSAGE("skipped: for a sanitizer's reports a loaded kernel keeps its descriptor");
    return;
  }
  check_child([] {
    limit_descriptors();
    const auto device = open_emulator({}, {});
    const Image first = compile(device->compiler(), adding(1));
    const Image second = compile(device->compiler(), adding(2));
    std::vector<std::shared_ptr<const Kernel>> kernels;
    for (int i = 0; i < 2 * static_cast<int>(few); ++i) kernels.push_back(device->load(i % 2 == 0 ? first : second, 0));
    for (int i = 0; i < 2 * static_cast<int>(few); ++i)
      require(run(*device, *kernels[static_cast<std::size_t>(i)]) == 1 + i % 2,
              "kernel " + std::to_string(i) + " is another");
  });
}

TEST_CASE("kernels that come and go in any order are never taken for one another") {
  const auto device = open_emulator({}, {});
  std::vector<Image> images;
  for (int number = 1; number <= 3; ++number) images.push_back(compile(device->compiler(), adding(number)));
  std::vector<std::shared_ptr<const Kernel>> kernels(3);
  for (int i = 0; i < 30; ++i) {
    const auto place = static_cast<std::size_t>(i * 7 % 3);
    const auto image = static_cast<std::size_t>(i * 5 % 4 % 3);
    kernels[place] = device->load(images[image], 0);
    CHECK(run(*device, *kernels[place]) == static_cast<int>(image) + 1);
  }
}

TEST_CASE("however few descriptors are left, a kernel compiles and runs or the error says that they ran out") {
  check_child([] {
    limit_descriptors();
    const auto device = open_emulator({}, {});
    device->compiler();
    take_descriptors(0);
    const Caught none = caught([&] { compile(device->compiler(), adding(1)); });
    require(
        none.code == ErrorCode::io_failure && none.says("Too many open files; this process may have 64 (ulimit -n)"),
        none.message);
  });
  int worked = 0;
  for (int spare = 1; spare <= 8; ++spare) {
    CAPTURE(spare);
    const ChildOutcome outcome = in_child([&] {
      limit_descriptors();
      const auto device = open_emulator({}, {});
      device->compiler();
      take_descriptors(spare);
      require(run(*device, *device->load(compile(device->compiler(), adding(1)), 0)) == 1, "a wrong result");
    });
    CHECK(outcome.finished);
    if (!outcome.threw) ++worked;
    else CHECK_MESSAGE(contains(outcome.log, "Too many open files"), outcome.log);
  }
  CHECK(worked >= 3);
}

TEST_CASE("where standard input, output and error are closed kernels compile and run as ever") {
  check_child([] {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(descriptor);
    const auto device = open_emulator({}, {});
    require(run(*device, *device->load(compile(device->compiler(), adding(1)), 0)) == 1, "a wrong result");
  });
}

TEST_CASE("a compiler that never ends is killed with all that it started, and the error names it and the seconds") {
  const TemporaryFolder folder;
  const std::string started = (folder / "started").string();
  const std::string compiler = script(folder, "*-pipe*", "sleep 1000 & echo $! > '" + started + "'; wait");
  const VariableScope chosen("VOSTOK_CXX", compiler);
  const VariableScope limit("VOSTOK_CXX_TIMEOUT", "1");
  const auto device = open_emulator({}, {});
  const Caught error = caught([&] { compile(device->compiler(), adding(1)); });
  CHECK(error.code == ErrorCode::compile_failed);
  CHECK_MESSAGE(error.says(compiler + " had not ended after 1 s and was killed"), error.message);
  CHECK(error.says("VOSTOK_CXX_TIMEOUT"));
  std::string process;
  REQUIRE(std::getline(std::ifstream(started), process));
  // A signal is delivered soon, not at once.
  for (int wait = 0; wait < 1000 && lives(process); ++wait) usleep(10'000);
  CHECK_FALSE(lives(process));
}

TEST_CASE("a compiler that does not even say its version is no_compiler, naming question and seconds") {
  const TemporaryFolder folder;
  const std::string compiler = script(folder, "*--version*", "sleep 1000");
  const VariableScope chosen("VOSTOK_CXX", compiler);
  const VariableScope limit("VOSTOK_CXX_TIMEOUT", "1");
  const Caught error = caught([] { open_host_compiler(); });
  CHECK(error.code == ErrorCode::no_compiler);
  CHECK_MESSAGE(error.says("'" + compiler + " --version' had not ended after 1 s and was killed"), error.message);
}

TEST_CASE("a compiler that ends within its time is not disturbed by a time-out") {
  const TemporaryFolder folder;
  const VariableScope chosen("VOSTOK_CXX", script(folder, "*-pipe*", "sleep 1"));
  const VariableScope limit("VOSTOK_CXX_TIMEOUT", "60");
  const auto device = open_emulator({}, {});
  CHECK(run(*device, *device->load(compile(device->compiler(), adding(5)), 0)) == 5);
}

TEST_CASE("a time-out of the compiler that is no number of seconds is refused") {
  for (const char* text : {"0", "-1", "1.5", "1s", "ten", "1000001", "99999999999999999999"}) {
    CAPTURE(text);
    const VariableScope limit("VOSTOK_CXX_TIMEOUT", text);
    const Caught error = caught([] { open_host_compiler(); });
    CHECK(error.code == ErrorCode::invalid_argument);
    CHECK(error.says("VOSTOK_CXX_TIMEOUT is '" + std::string(text) + "'"));
  }
}
