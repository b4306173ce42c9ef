// What the CUDA tests share: the fake driver found beside the test executable, and variables set for a scope.
#pragma once

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <vostok/error.hpp>

#include "base/environment.hpp"
#include "device/device.hpp"
#include "unit/device/fake_cuda/fake_cuda.hpp"

namespace vostok::test {

/// A file that was built beside this executable.
inline std::string beside_executable(const std::string& name) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / name).string();
}

/// Sets or unsets a variable and puts it back.
class VariableScope {
 public:
  VariableScope(const char* name, const std::optional<std::string>& value) : name_(name), previous_(environment(name)) {
    apply(value);
  }
  ~VariableScope() { apply(previous_); }
  VariableScope(const VariableScope&) = delete;
  VariableScope& operator=(const VariableScope&) = delete;

 private:
  void apply(const std::optional<std::string>& value) const {
    if (value) {
      setenv(name_, value->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  const char* name_;
  std::optional<std::string> previous_;
};

/// The functions of a library with controls; the library stays open.
template <class Get>
auto controls_of(const std::string& path, const char* function) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* const reason = handle == nullptr ? dlerror() : "";
  REQUIRE_MESSAGE(handle != nullptr, reason);
  return reinterpret_cast<Get>(dlsym(handle, function))();
}

/// The fake driver, reset and chosen for a test. Handles that a test leaves alive fail it.
class FakeDriver {
 public:
  explicit FakeDriver(const std::string& file = "fake_cuda.so")
      : path_(beside_executable(file)),
        controls_(controls_of<fake::GetControls>(path_, "fake_cuda_controls")),
        driver_("VOSTOK_LIBCUDA", path_),
        clocks_("VOSTOK_LIBNVML", path_) {
    controls_->reset();
  }
  ~FakeDriver() {
    for (const char* what : {"memory", "stream", "event", "context", "code", "graph"}) {
      CAPTURE(what);
      CHECK(controls_->live(what) == 0);
    }
    CHECK(controls_->thread_mode() == device::cuda::CaptureMode::global);
    controls_->reset();
  }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  const fake::Controls* operator->() const { return controls_; }
  const std::string& path() const { return path_; }
  bool logged(const std::string& text) const { return std::string(controls_->log()).find(text) != std::string::npos; }

 private:
  std::string path_;
  const fake::Controls* controls_;
  VariableScope driver_;
  VariableScope clocks_;
};

/// What an error said: its code, and its message for CHECKs on its parts.
struct Caught {
  std::optional<ErrorCode> code;
  std::string message;
  bool says(const std::string& text) const { return message.find(text) != std::string::npos; }
};

template <class Action>
Caught caught(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return {.code = error.code(), .message = error.what()};
  }
  return {};
}

}  // namespace vostok::test
