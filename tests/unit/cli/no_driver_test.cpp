// What the tool does where there is no driver, no NVRTC and no host compiler: everything but running kernels.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "unit/cli/tool_process.hpp"
#include "unit/device/cuda_fixture.hpp"

namespace vostok::cli::testing {
namespace {

const std::string dumped_rows =
    "vostok tuning 1\n"
    "device architecture=sm_90 id=d l2_bytes=62914560 memory_bytes=150754820096 multiprocessors=132 name=NVIDIA%20H200 "
    "uuid=GPU-1\n"
    "problem exact=operation=spmm id=p index_type=i32 k=256 longest_row=60 m=512 n=64 nonzeros=13107 operation=spmm "
    "policy=warm row_variation=0.25\n"
    "winner code_digest=c config=tile_rows=4 decided_at=1700000000 device=d driver=13.0 effort=full family=row_tile "
    "library_version=0.1.0 "
    "median_us=20 problem=p rounds=15\n";

const std::vector<std::pair<std::string, std::string>> nothing_here = {{"VOSTOK_LIBCUDA", "/nonexistent/libcuda.so.1"},
                                                                       {"VOSTOK_NVRTC", "/nonexistent"},
                                                                       {"VOSTOK_CXX", "/nonexistent/c++"}};

TEST_CASE(
    "without a driver and a compiler caches are loaded, listed, merged, ranked, verified and dumped, and keys are "
    "made") {
  const Tool tool;
  const auto path = [&](const char* name) { return (tool.folder() / name).string(); };
  const std::string text = tool.folder().write("rows.txt", dumped_rows).string();
  const std::vector<std::vector<std::string>> commands = {{"cache", "load", text, "--into", path("a.db")},
                                                          {"cache", "merge", path("a.db"), text, "--out", path("b.db")},
                                                          {"cache", "rank", path("b.db")},
                                                          {"cache", "verify", path("b.db")},
                                                          {"cache", "ls", path("b.db")},
                                                          {"cache", "keygen", path("team")},
                                                          {"cache", "sign", path("b.db"), "--key", path("team.key")},
                                                          {"cache", "dump", path("b.db"), "--out", path("dumped.txt")}};
  for (const std::vector<std::string>& command : commands) {
    CAPTURE(command[1]);
    const Outcome outcome = tool.run(command, nothing_here);
    CAPTURE(outcome.errors);
    CHECK(outcome.status == 0);
  }
  CHECK(contains(tool.run({"cache", "dump", path("a.db")}, nothing_here).output, "winner code_digest=c"));
}

TEST_CASE(
    "without a driver and a host compiler kernels are packed, by NVRTC alone, and without that the error names where "
    "it was searched") {
  const Tool tool;
  const std::string problems = tool.folder().write("problems.txt", "softmax --random 64x64x0.5\n").string();
  const std::vector<std::string> command = {
      "pack", "--arch", "sm_90", "--problems", problems, "--out", (tool.folder() / "p.db").string(), "--json"};
  auto variables = nothing_here;
  const Outcome without = tool.run(command, variables);
  CAPTURE(without.errors);
  CHECK(without.status != 0);
  CHECK(contains(without.errors + without.output, "/nonexistent"));
  variables[1].second = test::beside_executable("fake_nvrtc.so");
  const Outcome outcome = tool.run(command, variables);
  CAPTURE(outcome.errors);
  CHECK(outcome.status == 0);
  CHECK(nlohmann::json::parse(outcome.output)["devices"][0]["problems"] == 1);
}

}  // namespace
}  // namespace vostok::cli::testing
