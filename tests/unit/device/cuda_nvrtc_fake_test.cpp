// The search for NVRTC and its failures, over folders made for the test and a fake NVRTC.
#include <algorithm>
#include <fstream>

#include "base/temporary_folder.hpp"
#include "contains.hpp"
#include "device/cuda/nvrtc_compiler.hpp"
#include "device/cuda/nvrtc_log.hpp"
#include "device/cuda/nvrtc_places.hpp"
#include "unit/device/cuda_fixture.hpp"
#include "unit/device/fake_cuda/fake_nvrtc.hpp"

using namespace vostok;
using namespace vostok::test;
using device::cuda::NvrtcResult;
namespace fs = std::filesystem;

namespace {

struct FakeNvrtc {
  std::string path = beside_executable("fake_nvrtc.so");
  const fake::NvrtcControls* controls = controls_of<fake::GetNvrtcControls>(path, "fake_nvrtc_controls");
  FakeNvrtc() { controls->reset(); }
  ~FakeNvrtc() { controls->reset(); }
  FakeNvrtc(const FakeNvrtc&) = delete;
  FakeNvrtc& operator=(const FakeNvrtc&) = delete;
  const fake::NvrtcControls* operator->() const { return controls; }
};

device::Source any_source(const std::string& architecture) {
  return {.family = "tiny", .text = "text", .expression = "tiny<1>", .headers = {}, .architecture = architecture};
}

}  // namespace

TEST_CASE("places are tried in the order: CUDA_HOME, CUDA_PATH, toolkits, site-packages, loader") {
  const VariableScope none("VOSTOK_NVRTC", std::nullopt);
  const VariableScope home("CUDA_HOME", "/opt/first");
  const VariableScope path("CUDA_PATH", "/opt/second");
  const VariableScope environment("VIRTUAL_ENV", "/opt/venv");
  const auto places = device::cuda::nvrtc_places(std::nullopt);
  const auto position = [&](const std::string& part) {
    return std::find_if(places.begin(), places.end(),
                        [&](const auto& place) { return contains(place.pattern, part); }) -
           places.begin();
  };
  CHECK(position("/opt/first/lib64/libnvrtc.so*") == 0);
  CHECK(position("/opt/first/") < position("/opt/second/"));
  CHECK(position("/opt/second/targets/*/lib") < position("/usr/local/cuda/lib64"));
  CHECK(position("/usr/local/cuda-*/") < position("/opt/venv/lib/python3*/site-packages/nvidia/*/lib"));
  CHECK(position("/opt/venv/") < position("/usr/lib/python3*/dist-packages"));
  CHECK(places.back().loader_name);
  CHECK(places.back().pattern == "libnvrtc.so");
}

TEST_CASE("a chosen path or VOSTOK_NVRTC is the only place, as a file or as a folder") {
  const TemporaryFolder folder;
  const VariableScope variable("VOSTOK_NVRTC", folder.path().string());
  REQUIRE(device::cuda::nvrtc_places(std::nullopt).size() == 1);
  CHECK(device::cuda::nvrtc_places(std::nullopt).front().pattern == folder.path().string() + "/libnvrtc.so*");
  REQUIRE(device::cuda::nvrtc_places("/opt/libnvrtc.so.13").size() == 1);
  CHECK(device::cuda::nvrtc_places("/opt/libnvrtc.so.13").front().pattern == "/opt/libnvrtc.so.13");
}

TEST_CASE("the newest of several files comes first, links count once and only libnvrtc matches") {
  const TemporaryFolder folder;
  const fs::path newest = folder.write("libnvrtc.so.13", "not a library");
  const fs::path older = folder.write("libnvrtc.so.9.2", "not a library");
  folder.write("libnvrtc-builtins.so.13.0", "not a library");
  folder.write("libnvrtc.alt.so.13", "not a library");
  fs::create_symlink(newest, folder.path() / "libnvrtc.so");
  const auto files =
      device::cuda::matching_files(device::cuda::literal_pattern(folder.path().string()) + "/libnvrtc.so*");
  REQUIRE(files.size() == 2);
  CHECK(files[0] == newest);
  CHECK(files[1] == older);
}

TEST_CASE("a path with pattern characters is taken literally") {
  const TemporaryFolder folder;
  const fs::path odd = folder.write("a[1]*/libnvrtc.so.13", "not a library");
  const auto files = device::cuda::matching_files(device::cuda::nvrtc_places(odd.parent_path()).front().pattern);
  REQUIRE(files.size() == 1);
  CHECK(files.front() == odd);
}

TEST_CASE("a library that cannot be loaded is passed over with the loader's reason") {
  const FakeNvrtc nvrtc;
  const TemporaryFolder folder;
  const fs::path broken = folder.write("libnvrtc.so.13", "not a library");
  fs::create_symlink(nvrtc.path, folder.path() / "libnvrtc.so.12");
  const auto search = device::cuda::NvrtcSearch::run(device::cuda::nvrtc_places(folder.path()));
  REQUIRE(search.nvrtc);
  CHECK(search.nvrtc->identity() == "nvrtc 12.1");
  CHECK(search.findings[1].where == broken.string());
  CHECK_FALSE(search.findings[1].used);
  CHECK(contains(search.findings[1].state, "file too short"));
}

TEST_CASE("an NVRTC that is too old or lacks its builtins is not used, and the error says why") {
  const FakeNvrtc nvrtc;
  nvrtc->set_version(11, 8);
  const Caught old = caught([&] { device::open_nvrtc(nvrtc.path); });
  CHECK(old.code == ErrorCode::no_compiler);
  CHECK(old.says("version 11.8 is too old"));
  nvrtc->reset();
  nvrtc->end_compiles(0, NvrtcResult::builtin_operation_failure,
                      "nvrtc: error: failed to open libnvrtc-builtins.so.12.1");
  const Caught builtins = caught([&] { device::open_nvrtc(nvrtc.path); });
  CHECK(builtins.code == ErrorCode::no_compiler);
  CHECK(builtins.says("failed to open libnvrtc-builtins.so.12.1"));
  const Caught wrong = caught([&] { device::open_nvrtc(beside_executable("fake_cuda.so")); });
  CHECK(wrong.code == ErrorCode::no_compiler);
  CHECK(wrong.says("nvrtcCompileProgram"));
}

TEST_CASE("builtins that go missing later are no_compiler naming the library") {
  const FakeNvrtc nvrtc;
  const auto compiler = device::open_nvrtc(nvrtc.path);
  nvrtc->end_compiles(0, NvrtcResult::builtin_operation_failure,
                      "nvrtc: error: failed to open libnvrtc-builtins.so.12.1");
  const Caught error = caught([&] { compiler->compile(any_source("sm_90")); });
  CHECK(error.code == ErrorCode::no_compiler);
  CHECK(error.says(nvrtc.path));
  CHECK(error.says("libnvrtc-builtins.so.12.1"));
}

TEST_CASE("options that an NVRTC does not know are left out, the others stay") {
  const FakeNvrtc nvrtc;
  CHECK(contains(device::open_nvrtc(nvrtc.path)->compile(any_source("sm_90")).binary, "--no-cache\n"));
  nvrtc->refuse_option("--no-cache");
  const device::Image image = device::open_nvrtc(nvrtc.path)->compile(any_source("sm_90"));
  CHECK(image.symbol == "lowered");
  CHECK(image.binary ==
        "--std=c++20\n-default-device\n-arch=sm_90\n--modify-stack-limit=false\n--minimal\n--frandom-seed=vostok\n--"
        "ptxas-options=-v\n");
  nvrtc->refuse_option("--std=c++20");
  CHECK(caught([&] { device::open_nvrtc(nvrtc.path); }).code == ErrorCode::no_compiler);
}

TEST_CASE("the target is the architecture itself where it is known, else PTX of the nearest below") {
  const FakeNvrtc nvrtc;
  const auto compiler = device::open_nvrtc(nvrtc.path);
  CHECK(device::nvrtc_architectures(*compiler) == std::vector<std::string>{"sm_75", "sm_80", "sm_90"});
  CHECK(contains(compiler->compile(any_source("sm_90a")).binary, "-arch=sm_90a\n"));
  CHECK(contains(compiler->compile(any_source("sm_120")).binary, "-arch=compute_90\n"));
  CHECK(contains(compiler->compile(any_source("sm_86")).binary, "-arch=compute_80\n"));
  CHECK(caught([&] { compiler->compile(any_source("sm_120a")); }).code == ErrorCode::compile_failed);
  CHECK(caught([&] { compiler->compile(any_source("sm_70")); }).code == ErrorCode::compile_failed);
}

TEST_CASE("a device's compiler is opened on first use, and its options are known without it") {
  const FakeDriver driver;
  const auto device = device::open_cuda(0, {.nvrtc = "/nonexistent/libnvrtc.so.13"});
  CHECK(device->compiler().options().size() == 2);
  CHECK(device->code_target().architecture == "sm_90");
  CHECK(device->code_target().compiler.empty());
  const Caught error = caught([&] { device->compiler().compile(any_source("sm_90")); });
  CHECK(error.code == ErrorCode::no_compiler);
  CHECK(error.says("/nonexistent/libnvrtc.so.13"));
}

TEST_CASE("a log's resources add up over functions and its performance warnings are kept") {
  device::Image image;
  device::cuda::read_resources(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to a call\n"
      "ptxas info    : Function properties for kernel\n"
      "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 16 bytes cumulative stack size, 1024 bytes smem, 400 bytes "
      "cmem[0]\n"
      "ptxas info    : Function properties for helper\n"
      "    32 bytes stack frame, 1 bytes spill stores, 2 bytes spill loads\n"
      "tiny.cu(3): warning: variable was declared but never referenced\n",
      image);
  CHECK(image.registers == 40);
  CHECK(image.spill_bytes == 23);
  CHECK(image.stack_bytes == 32);
  CHECK(image.static_shared_bytes == 1024);
  REQUIRE(image.warnings.size() == 1);
  CHECK(contains(image.warnings.front(), "C7510"));
}

TEST_CASE("an excerpt of a long log keeps the first errors and counts the rest") {
  std::string log = "ptxas info    : 0 bytes gmem\n\n";
  for (int i = 0; i < 40; ++i) log += "tiny.cu(" + std::to_string(i) + "): error: " + std::string(1000, 'x') + "\n";
  const std::string excerpt = device::cuda::error_excerpt(log);
  CHECK(contains(excerpt, "tiny.cu(0)"));
  CHECK_FALSE(contains(excerpt, "gmem"));
  CHECK(contains(excerpt, "(10 more lines)"));
  CHECK(excerpt.size() < 15'000);
}
