#include <doctest/doctest.h>
#include <sched.h>
#include <sys/mount.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/environment.hpp"
#include "device/emulator/host_compiler.hpp"
#include "unit/child_outcome.hpp"
#include "unit/device/emulator_harness.hpp"

using namespace emulator_test;
using vostok::ErrorCode;
using vostok::device::Source;
using vostok::device::emulator::open_emulator;
using vostok::device::emulator::open_host_compiler;

namespace {

/// Sets a variable (nothing: removes it) while it lives.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::optional<std::string>& value)
      : name_(name), before_(vostok::environment(name)) {
    set(value);
  }
  ~ScopedVariable() { set(before_); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  void set(const std::optional<std::string>& value) {
    if (value) setenv(name_, value->c_str(), 1);
    else unsetenv(name_);
  }
  const char* name_;
  std::optional<std::string> before_;
};

Source source_of(const std::string& text, const std::string& expression = "kernel") {
  return {.family = "test.h", .text = text, .expression = expression, .headers = {}, .architecture = "emulator"};
}

/// Thrown where /tmp cannot be hidden.
const char* const unavailable = "no mount namespace";

/// The message of the compile_failed that this text ends with.
std::string compile_error(const Source& source) {
  try {
    open_host_compiler()->compile(source);
  } catch (const vostok::Error& error) {
    CHECK(error.code() == ErrorCode::compile_failed);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a kernel that does not compile is compile_failed with the expression and the errors") {
  const std::string text = compile_error(source_of(
      "struct Args { int x; };\n__global__ void kernel(const __grid_constant__ Args args) {\n  args.y;\n}\n"));
  CHECK(contains(text, "cannot compile kernel: "));
  CHECK(contains(text, "test.h:3:"));
  CHECK(contains(text, "no member named"));
}

TEST_CASE("a misspelt field of a config and a broken rule are compile errors that say so") {
  const std::string text =
      "struct Config { int rows = 1; };\ntemplate <Config config> struct Fixed { static_assert(config.rows < 9, "
      "\"rows: at most 8\"); };\nstruct "
      "Args { int x; };\n"
      "template <class F> __global__ void kernel(const __grid_constant__ Args) { F f; }\n";
  CHECK(contains(compile_error(source_of(text, "kernel<Fixed<Config{.rowz = 1}>>")), "rowz"));
  CHECK(contains(compile_error(source_of(text, "kernel<Fixed<Config{.rows = 9}>>")), "rows: at most 8"));
  CHECK(compile_error(source_of(text, "kernel<Fixed<Config{.rows = 8}>>")).empty());
}

TEST_CASE("headers are joined in order, and messages name them") {
  Source source = source_of(
      "#include \"b.h\"\nstruct Args { int x; };\n__global__ void kernel(const __grid_constant__ Args) { b(); }\n");
  source.headers = {{"a.h", "#pragma once\nint a() { return 1; }\n"},
                    {"b.h", "#pragma once\n#include \"a.h\"\nint b() { return a(); }"}};
  CHECK(compile_error(source).empty());
  source.headers[1].text = "#pragma once\n#include \"a.h\"\nint b() { return c(); }";
  CHECK(contains(compile_error(source), "b.h:3:"));
}

TEST_CASE("a compiler that is not there is no_compiler naming what was tried") {
  const ScopedVariable variable("VOSTOK_CXX", "vostok-has-no-such-compiler -v");
  const auto device = open_emulator({}, {});  // opens without one
  try {
    device->compiler();
    FAIL("a compiler was found");
  } catch (const vostok::Error& error) {
    CHECK(error.code() == ErrorCode::no_compiler);
    CHECK(contains(error.what(), "'vostok-has-no-such-compiler -v --version' did not start"));
    CHECK(contains(error.what(), "VOSTOK_CXX"));
  }
}

TEST_CASE("VOSTOK_CXX comes before CXX, which comes before c++") {
  const ScopedVariable cxx("CXX", "of-cxx");
  {
    const ScopedVariable own("VOSTOK_CXX", "of-vostok");
    CHECK(vostok::device::emulator::host_compiler_command() == "of-vostok");
  }
  const ScopedVariable none("VOSTOK_CXX", std::nullopt);
  CHECK(vostok::device::emulator::host_compiler_command() == "of-cxx");
  const ScopedVariable neither("CXX", std::nullopt);
  CHECK(vostok::device::emulator::host_compiler_command() == "c++");
}

TEST_CASE("no temporary folder is needed to compile, load and run") {
  const ChildOutcome outcome = in_child([&] {
    // A mount namespace of its own, in which nothing can be written where compilers look for temporary folders.
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) throw std::runtime_error(unavailable);
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) throw std::runtime_error(unavailable);
    for (const char* folder : {"/tmp", "/var/tmp", "/dev/shm"})
      if (std::filesystem::exists(folder) && mount("none", folder, "tmpfs", MS_RDONLY, nullptr) != 0)
        throw std::runtime_error(unavailable);
    const ScopedVariable variable("TMPDIR", "/nonexistent/folder");
    std::filesystem::current_path("/proc");
    Bench bench(
        {.text =
             "struct Args { int* x; };\n__global__ void kernel(const __grid_constant__ Args args) { *args.x = 3; }\n"});
    struct Args {
      int* x;
    };
    int x = 0;
    bench.launch({}, {1}, Args{&x});
    if (x != 3) throw std::runtime_error("the kernel did not run");
  });
  if (contains(outcome.log, unavailable)) {
    MESSAGE("skipped: this process may not make a mount namespace, so /tmp cannot be hidden");
    return;
  }
  CAPTURE(outcome.log);
  CHECK(outcome.finished);
  CHECK_FALSE(outcome.threw);
}

TEST_CASE("the compiler's identity names its version, sanitizer and shim, and is part of the key") {
  const auto compiler = open_host_compiler();
  CHECK(compiler->identity_in_key());
  CHECK(contains(compiler->identity(), "-O1"));
  CHECK(contains(compiler->identity(), ", shim "));
  const char* const name = has_address_sanitizer  ? "sanitizer address"
                           : has_thread_sanitizer ? "sanitizer thread"
                                                  : "sanitizer none";
  CHECK(contains(compiler->identity(), name));
  for (const std::string& option : compiler->options()) CHECK_FALSE(contains(option, "/"));
}

TEST_CASE("several threads compile, load and launch at once") {
  const auto device = open_emulator({}, {});
  struct Args {
    int* x;
  };
  std::vector<int> results(6, 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&, i] {
      const std::string text =
          "struct Args { int* x; };\n__global__ void kernel(const __grid_constant__ Args args) { atomicAdd(args.x, " +
          std::to_string(i) + "); }\n";
      const auto kernel = device->load(device->compiler().compile(source_of(text)), 0);
      const Args args{&results[static_cast<std::size_t>(i)]};
      for (int repeat = 0; repeat < 5; ++repeat)
        device->launch(nullptr, *kernel, {.grid = {4}, .block = {32}}, &args, sizeof args);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(results == std::vector<int>{0, 640, 1280, 1920, 2560, 3200});
}

TEST_CASE("an image that is no library is an error that names the kernel") {
  const auto device = open_emulator({}, {});
  try {
    device->load({.binary = "not a library", .symbol = "row_tile"}, 0);
    FAIL("it was loaded");
  } catch (const vostok::Error& error) {
    CHECK(error.code() == ErrorCode::device_failure);
    CHECK(contains(error.what(), "cannot load kernel row_tile: "));
  }
}
