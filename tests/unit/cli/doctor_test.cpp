#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "unit/cli/tool_process.hpp"

namespace vostok::cli::testing {
namespace {

TEST_CASE("doctor says what was looked for, the caches, the environment, and ends with a verdict") {
  const Tool tool;
  const Outcome outcome = tool.run({"doctor"});
  CAPTURE(outcome.output);
  CHECK(outcome.status == 0);
  const std::string cache = (tool.folder() / "cache").string();
  for (const std::string& part : std::vector<std::string>{"driver", "nvrtc", "emulator", cache, "VOSTOK_CACHE_DIR",
                                                          "VOSTOK_EMULATOR_ORDER", "\nverdict "}) {
    CAPTURE(part);
    CHECK(contains(outcome.output, part));
  }
  const std::size_t last = outcome.output.rfind('\n', outcome.output.size() - 2);
  CHECK(outcome.output.substr(last + 1).starts_with("verdict"));
}

TEST_CASE("doctor counts what the caches hold") {
  const Tool tool;
  REQUIRE(tool.run({"run", "spmm", "--random", "16x16x0.5", "--n", "4", "--device", "emulator"}).status == 0);
  const Outcome outcome = tool.run({"doctor", "--json"});
  const auto object = nlohmann::json::parse(outcome.output);
  CHECK(object["cache"]["folder"] == (tool.folder() / "cache").string());
  CHECK(object["cache"]["from"] == "VOSTOK_CACHE_DIR");
  int kernels = 0;
  for (const auto& layer : object["cache"]["layers"]) kernels += layer["code_rows"].get<int>();
  CHECK(kernels == 1);
  CHECK(object["environment"]["VOSTOK_CACHE_DIR"] == (tool.folder() / "cache").string());
}

TEST_CASE("without a driver, NVRTC and a host compiler nothing runs, and doctor exits with 3") {
  const Tool tool;
  const Outcome outcome = tool.run({"doctor"}, {{"VOSTOK_LIBCUDA", "/nonexistent/libcuda.so"},
                                                {"VOSTOK_NVRTC", "/nonexistent"},
                                                {"VOSTOK_CXX", "/nonexistent/c++"}});
  CAPTURE(outcome.output);
  CHECK(outcome.status == 3);
  CHECK(contains(outcome.output, "/nonexistent/libcuda.so"));
  CHECK(contains(outcome.output, "/nonexistent/c++"));
  CHECK(contains(outcome.output, "nothing runs here"));
}

TEST_CASE("without a driver and a host compiler a run exits with 3 and names what to set") {
  const Tool tool;
  const Outcome outcome = tool.run({"run", "spmm", "--random", "4x4x0", "--n", "1"},
                                   {{"VOSTOK_LIBCUDA", "/nonexistent/libcuda.so"}, {"VOSTOK_CXX", "/nonexistent/c++"}});
  CAPTURE(outcome.errors);
  CHECK(outcome.status == 3);
  CHECK(contains(outcome.errors, "VOSTOK_CXX"));
}

}  // namespace
}  // namespace vostok::cli::testing
