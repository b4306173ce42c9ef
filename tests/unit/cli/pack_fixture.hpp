// Packing with a fake NVRTC, and contexts that have nothing but what was packed.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include <vostok/context.hpp>

#include "unit/device/cuda_fixture.hpp"
#include "unit/device/fake_cuda/fake_nvrtc.hpp"

namespace vostok::cli::testing {

/// A context whose only kernels are those of a file. A compiler that were asked for would not be there.
inline Options packed_only(const std::string& device, const std::filesystem::path& packed,
                           const std::filesystem::path& folder) {
  return {.device = device,
          .cache = {.folder = folder, .read_only = {packed}, .shipped = folder / "none"},
          .compile = CompilePolicy::never,
          .nvrtc = "/there/is/no/libnvrtc.so",
          .log = [](LogLevel, std::string_view text) { MESSAGE(std::string(text)); }};
}

struct FakeNvrtc {
  FakeNvrtc() { controls->give_output("FAKE lowered 64"); }
  ~FakeNvrtc() { controls->reset(); }
  std::string path = test::beside_executable("fake_nvrtc.so");
  const fake::NvrtcControls* controls = test::controls_of<fake::GetNvrtcControls>(path, "fake_nvrtc_controls");
};

/// It does not ask how large kernels' arguments are.
inline constexpr const char* any_arguments = "fake_cuda_old.so";
inline constexpr const char* fake_gpu = "architecture=sm_90 multiprocessors=132 name=Fake%20GPU";

}  // namespace vostok::cli::testing
