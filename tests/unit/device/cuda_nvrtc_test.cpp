// The compiler over the real NVRTC where there is one.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include "device/cuda/nvrtc_library.hpp"
#include "unit/device/cuda_fixture.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

/// The NVRTC that the search finds, or nullptr with the reason printed.
std::shared_ptr<const device::Compiler> real_nvrtc() {
  try {
    return device::open_nvrtc(std::nullopt);
  } catch (const Error& error) {
    MESSAGE("skipped: ", error.what());
    return nullptr;
  }
}

constexpr std::string_view header_text = R"(#pragma once
template <int count> struct Fixed { static constexpr int value = count; };
)";

device::Source source_of(const std::string& body, const std::string& architecture = "sm_80") {
  device::Source source;
  source.family = "tiny";
  source.text =
      "#include \"abi/fixed_count.h\"\ntemplate <class F> __global__ void tiny(float* out) {\n" + body + "\n}\n";
  source.expression = "tiny<Fixed<8>>";
  source.headers = {{.name = "abi/fixed_count.h", .text = header_text}};
  source.architecture = architecture;
  return source;
}

const std::string scale = "  for (int i = 0; i < F::value; ++i) out[i] *= 2.0f;";

/// Keeps so many values alive at once that a low register limit forces spills.
const std::string needs_registers = R"(
  float kept[96];
  for (int i = 0; i < 96; ++i) kept[i] = out[i * 37];
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < 96; ++i) out[i * 41 + 1] = kept[95 - i] * kept[i];
)";

}  // namespace

TEST_CASE("NVRTC compiles a kernel for every architecture it knows to a cubin with its symbol and resources") {
  const auto nvrtc = real_nvrtc();
  if (!nvrtc) return;
  const auto architectures = device::nvrtc_architectures(*nvrtc);
  REQUIRE_FALSE(architectures.empty());
  CHECK(std::find(architectures.begin(), architectures.end(), "sm_90") != architectures.end());
  for (const std::string& architecture : architectures) {
    CAPTURE(architecture);
    const device::Image image = nvrtc->compile(source_of(scale, architecture));
    CHECK(image.binary.substr(1, 3) == "ELF");
    CHECK(image.symbol.find("tiny") != std::string::npos);
    CHECK(image.binary.find(image.symbol) != std::string::npos);
    CHECK(image.registers > 0);
    CHECK(image.spill_bytes == 0);
    CHECK(image.stack_bytes == 0);
    CHECK(image.warnings.empty());
  }
}

TEST_CASE("an architecture with a suffix compiles as itself") {
  const auto nvrtc = real_nvrtc();
  if (!nvrtc) return;
  const device::Image image =
      nvrtc->compile(source_of("  asm volatile(\"setmaxnreg.inc.sync.aligned.u32 64;\");\n" + scale, "sm_90a"));
  CHECK(image.binary.substr(1, 3) == "ELF");
}

TEST_CASE("NVRTC's identity has a version and its options no path") {
  const auto nvrtc = real_nvrtc();
  if (!nvrtc) return;
  const std::string identity = nvrtc->identity();
  CAPTURE(identity);
  CHECK(identity.find("nvrtc 1") == 0);
  CHECK_MESSAGE(std::count(identity.begin(), identity.end(), '.') == 2, "version and build, as in 13.0.88");
  CHECK(nvrtc->options() == std::vector<std::string>{"--std=c++20", "-default-device"});
  CHECK_FALSE(nvrtc->identity_in_key());
}

TEST_CASE("the same source gives the same machine code") {
  const auto nvrtc = real_nvrtc();
  if (!nvrtc) return;
  CHECK(nvrtc->compile(source_of(scale)).binary == nvrtc->compile(source_of(scale)).binary);
}

TEST_CASE("internal names give code no other bytes a second later") {
  if (!real_nvrtc()) return;
  const auto known = device::cuda::open_nvrtc_library(std::nullopt)->process_options();
  if (std::none_of(known.begin(), known.end(),
                   [](const std::string& option) { return option.starts_with("--frandom-seed="); })) {
    MESSAGE("skipped: this NVRTC takes no seed");
    return;
  }
  device::Source source = source_of(scale + " out[0] = constants::factor;");
  source.text.insert(0, "namespace constants { constexpr float factor = 2; }\n");
  const std::string first = device::open_nvrtc(std::nullopt)->compile(source).binary;
  CHECK(first.find("_INTERNAL_") != std::string::npos);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // the clock that NVRTC would draw from counts seconds
  CHECK(device::open_nvrtc(std::nullopt)->compile(source).binary == first);
}

TEST_CASE("a syntax error is compile_failed with the file, the line and the expression") {
  const auto nvrtc = real_nvrtc();
  if (!nvrtc) return;
  const Caught error = caught([&] { nvrtc->compile(source_of("  int x = 1\n  out[0] = x;")); });
  CHECK(error.code == ErrorCode::compile_failed);
  CHECK(error.says("tiny.cu(4): error: expected a \";\""));
  CHECK(error.says("tiny<Fixed<8>>"));
  CHECK(error.says("sm_80"));
  CHECK_FALSE(error.says("ptxas info"));
}

TEST_CASE("an error in a header names the header, and an unknown expression is an error") {
  const auto nvrtc = real_nvrtc();
  if (!nvrtc) return;
  device::Source source = source_of(scale);
  source.headers = {
      {.name = "abi/fixed_count.h", .text = "template <int count> struct Fixed { static constexpr int valu = count; "}};
  CHECK(caught([&] { nvrtc->compile(source); }).says("abi/fixed_count.h"));
  source = source_of(scale);
  source.expression = "tiny<Fixed<8>, 3>";
  CHECK(caught([&] { nvrtc->compile(source); }).code == ErrorCode::compile_failed);
  source = source_of(scale);
  source.headers.clear();
  CHECK(caught([&] { nvrtc->compile(source); }).code == ErrorCode::compile_failed);
}

TEST_CASE("registers, spills, stack and static shared memory are read from the compiler's log") {
  const auto nvrtc = real_nvrtc();
  if (!nvrtc) return;
  device::Source source = source_of(needs_registers);
  const device::Image roomy = nvrtc->compile(source);
  CHECK(roomy.registers > 40);
  CHECK(roomy.spill_bytes == 0);
  source.text.replace(source.text.find("void tiny"), 4, "void __launch_bounds__(1024, 2)");
  const device::Image tight = nvrtc->compile(source);
  CHECK(tight.registers <= 32);
  CHECK(tight.spill_bytes > 0);
  CHECK(tight.stack_bytes > 0);
  const device::Image shared =
      nvrtc->compile(source_of("  __shared__ float tile[96];\n  tile[threadIdx.x] = out[0];\n  __syncthreads();\n  "
                               "out[1] = tile[95 - threadIdx.x];"));
  CHECK(shared.static_shared_bytes == 96 * 4);
}

TEST_CASE("what ptxas says about instructions that it ignores or serialises is a warning of the image") {
  const auto nvrtc = real_nvrtc();
  if (!nvrtc) return;
  const device::Image image =
      nvrtc->compile(source_of("  asm volatile(\"setmaxnreg.inc.sync.aligned.u32 64;\");\n" + scale, "sm_90a"));
  REQUIRE(image.warnings.size() == 1);
  CAPTURE(image.warnings.front());
  CHECK(image.warnings.front().find("setmaxnreg") != std::string::npos);
}

TEST_CASE("an architecture newer than NVRTC gives PTX of the highest one it knows") {
  const auto nvrtc = real_nvrtc();
  if (!nvrtc) return;
  const std::string highest = device::nvrtc_architectures(*nvrtc).back();
  const device::Image image = nvrtc->compile(source_of(scale, "sm_999"));
  CHECK(image.binary.find(".target " + highest) != std::string::npos);
  CHECK(image.binary.find(".entry " + image.symbol) != std::string::npos);
  CHECK(caught([&] { nvrtc->compile(source_of(scale, "sm_999a")); }).code == ErrorCode::compile_failed);
  CHECK(caught([&] { nvrtc->compile(source_of(scale, "sm_20")); }).says("oldest architecture"));
  CHECK(caught([&] { nvrtc->compile(source_of(scale, "ninety")); }).says("sm_90"));
}

TEST_CASE("two threads compile at once and get what one gets") {
  const auto nvrtc = real_nvrtc();
  if (!nvrtc) return;
  const std::string expected = nvrtc->compile(source_of(scale)).binary;
  const auto work = [&](int& right) {
    for (int i = 0; i < 4; ++i) right += nvrtc->compile(source_of(scale)).binary == expected ? 1 : 0;
  };
  int first = 0;
  int second = 0;
  std::thread other([&] { work(first); });
  work(second);
  other.join();
  CHECK(first == 4);
  CHECK(second == 4);
}

TEST_CASE("NVRTC is used by absolute path together with the builtins beside it") {
  if (!real_nvrtc()) return;
  const auto search = device::cuda::NvrtcSearch::run(device::cuda::nvrtc_places(std::nullopt));
  REQUIRE(search.nvrtc);
  const auto is_builtins = [](const device::Finding& finding) {
    return finding.what == "nvrtc builtins" && finding.used;
  };
  const auto builtins = std::find_if(search.findings.begin(), search.findings.end(), is_builtins);
  REQUIRE(builtins != search.findings.end());
  CHECK(std::filesystem::path(builtins->where).is_absolute());
  std::ifstream maps("/proc/self/maps");
  const std::string loaded((std::istreambuf_iterator<char>(maps)), std::istreambuf_iterator<char>());
  CHECK(loaded.find(std::filesystem::canonical(builtins->where).string()) != std::string::npos);
  CHECK(loaded.find(std::filesystem::canonical(search.nvrtc->path()).string()) != std::string::npos);
}

TEST_CASE("a bad explicit path is no_compiler naming it, and nothing else is tried") {
  for (const bool by_variable : {false, true}) {
    const VariableScope variable("VOSTOK_NVRTC",
                                 by_variable ? std::optional<std::string>("/nonexistent/nvrtc") : std::nullopt);
    const Caught error = caught([&] {
      device::open_nvrtc(by_variable ? std::nullopt : std::optional<std::filesystem::path>("/nonexistent/nvrtc"));
    });
    CHECK(error.code == ErrorCode::no_compiler);
    CHECK(error.says("/nonexistent/nvrtc: not there"));
  }
  const Caught not_a_library = caught([] { device::open_nvrtc("/proc/self/status"); });
  CHECK(not_a_library.code == ErrorCode::no_compiler);
  CHECK(not_a_library.says("/proc/self/status"));
}
