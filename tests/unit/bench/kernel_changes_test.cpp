#include "bench/harness/kernel_changes.hpp"

#include <doctest/doctest.h>

#include "base/temporary_folder.hpp"
#include "error_code.hpp"

using namespace vostok;
using bench::Json;

namespace {

Json kernel(const char* expression, int registers, int instructions) {
  return {{"architecture", "sm_90a"},
          {"expression", expression},
          {"registers", registers},
          {"instructions", instructions},
          {"seconds", 0.5 * registers}};
}

}  // namespace

TEST_CASE("kernels that differ, are new or are gone have a line each; equal ones, compiled slower, have none") {
  Json slower = kernel("same<1>", 32, 100);
  slower["seconds"] = 99;
  const Json earlier = {kernel("same<1>", 32, 100), kernel("row<2>", 96, 812), kernel("old<3>", 40, 7)};
  const Json now = {kernel("row<2>", 104, 840), slower, kernel("fresh<4>", 40, 7)};
  const std::vector<std::string> changes = bench::kernel_changes(earlier, now, true);
  CHECK(changes == std::vector<std::string>{"sm_90a fresh<4>: is new",
                                            "sm_90a row<2>: registers 96 -> 104, instructions 812 -> 840",
                                            "sm_90a old<3>: is gone"});
  CHECK(bench::kernel_changes(earlier, earlier, true).empty());
}

TEST_CASE("of kernels of some families those of others are not gone") {
  const Json earlier = {kernel("same<1>", 32, 100), kernel("old<3>", 40, 7)};
  CHECK(bench::kernel_changes(earlier, Json::array({kernel("same<1>", 32, 100)}), false).empty());
}

TEST_CASE("a kernel that failed to compile differs from one that did not, by its failure") {
  const Json earlier = Json::array({kernel("row<2>", 96, 812)});
  const Json now = Json::array({{{"architecture", "sm_90a"}, {"expression", "row<2>"}, {"failure", "no"}}});
  const auto changes = bench::kernel_changes(earlier, now, true);
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].find("registers 96 -> null") != std::string::npos);
  CHECK(changes[0].find("failure null -> \"no\"") != std::string::npos);
}

TEST_CASE("kernels that an earlier run compiled are found by their code, failures and missing files are not") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "record.json";
  CHECK(bench::compiled_before(file).empty());
  CHECK(bench::compiled_before({}).empty());
  Json done = kernel("row<2>", 96, 812);
  done["code"] = "a1";
  bench::write_json(file, {{"rows", {done, {{"code", "b2"}, {"failure", "no"}}}}});
  const auto rows = bench::compiled_before(file);
  REQUIRE(rows.size() == 1);
  CHECK(rows.at("a1") == done);
}

TEST_CASE("rows of another kind of record are refused") {
  const Json other = Json::array({{{"file", "a.smtx"}, {"n", 8}}});
  CHECK(test::code_of([&] { bench::kernel_changes(other, Json::array(), true); }) == ErrorCode::invalid_argument);
}
