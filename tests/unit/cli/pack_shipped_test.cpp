// Choices that lie beside the tool, as an installation has them: whose are used.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cache/tuning_content.hpp"
#include "cli/matrix_source.hpp"
#include "cli/problem_file.hpp"
#include "context_state.hpp"
#include "plan/features.hpp"
#include "plan/plan_state.hpp"
#include "sparse/text_file.hpp"
#include "unit/cli/pack_fixture.hpp"
#include "unit/cli/tool_process.hpp"

using namespace vostok;
using namespace vostok::cli;
using namespace vostok::cli::testing;

namespace fs = std::filesystem;

TEST_CASE("choices beside the tool are packed and listed where only the user can have put them there") {
  const TemporaryFolder folder;
  const FakeNvrtc nvrtc;
  const fs::path problems = folder.write("problems.txt", "softmax --random 256x512x0.9\n");
  const fs::path tool = folder / "installed/bin/vostok", shipped = folder / "installed/share/vostok",
                 said = folder / "said";
  fs::create_directories(tool.parent_path());
  fs::create_directories(shipped);
  fs::copy_file(VOSTOK_TOOL, tool);
  {
    const Context context(
        Options{.device = std::string("compile:") + fake_gpu, .cache = {.enabled = false}, .nvrtc = nvrtc.path});
    const ProblemLine line = std::move(read_problem_file(problems).front());
    const AnyPlan plan = line.job->plan(context, load(line.options, *line.job, context).topology, line.options.plan);
    cache::write_content(
        {.winners = {{.problem = plan::problem_key(*plan.state()->choices.front().query),
                      .device = context.state()->session->device_key(),
                      .winner = {.family = plan.family(), .config = plan.config(), .median_us = 5, .rounds = 15}}}},
        shipped / "tuning.db");
  }
  const auto run = [&](const std::string& arguments) {
    const std::string command =
        fmt::format("VOSTOK_CACHE_DIR='{}' VOSTOK_NVRTC='{}' '{}' {} > '{}'", (folder / "none").string(), nvrtc.path,
                    tool.string(), arguments, said.string());
    CHECK(std::system(command.c_str()) == 0);
    return sparse::read_bytes(said);
  };
  const auto packed_of_shipped = [&] {
    const std::string text = run(fmt::format("pack --like '{}' --problems '{}' --out '{}' --json", fake_gpu,
                                             problems.string(), (folder / "packed.db").string()));
    return nlohmann::json::parse(text)["devices"][0]["tuned"].get<int>();
  };
  for (const bool trusted : {true, false}) {
    CAPTURE(trusted);
    fs::permissions(shipped, trusted ? fs::perms(0755) : fs::perms(0757));
    CHECK(packed_of_shipped() == (trusted ? 1 : 0));
    CHECK(contains(run("cache ls"), shipped.string()) == trusted);
  }
}
