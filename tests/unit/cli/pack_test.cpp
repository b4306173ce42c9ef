// Kernels packed without a GPU serve plans where nothing may compile.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cache/database.hpp"
#include "cache/dump.hpp"
#include "cache/tuning_content.hpp"
#include "cli/matrix_source.hpp"
#include "cli/pack.hpp"
#include "cli/problem_file.hpp"
#include "context_state.hpp"
#include "plan/candidates.hpp"
#include "plan/features.hpp"
#include "plan/plan_state.hpp"
#include "sparse/text_file.hpp"
#include "unit/cli/pack_fixture.hpp"
#include "unit/cli/tool_process.hpp"

using namespace vostok;
using namespace vostok::cli;
using namespace vostok::cli::testing;

namespace {

namespace fs = std::filesystem;

/// The same structure, in memory of the device.
Topology from_device_memory(const Context& context, const sparse::Csr& matrix) {
  device::Device& device = context.state()->session->device();
  const auto bytes = [](const auto& values) { return static_cast<std::int64_t>(values.size() * sizeof(values[0])); };
  const device::Buffer offsets(device, bytes(matrix.row_offsets)), columns(device, bytes(matrix.column_indices));
  device.copy_to_device(offsets.data(), matrix.row_offsets.data(), offsets.bytes());
  device.copy_to_device(columns.data(), matrix.column_indices.data(), columns.bytes());
  return context.topology({.rows = matrix.rows,
                           .cols = matrix.cols,
                           .row_offsets = offsets.as<std::int64_t>(),
                           .column_indices = columns.as<std::int32_t>()});
}

/// Plans, packs where the plan does, and compares with float64.
void check_runs(const Context& context, const ProblemLine& line, bool in_device_memory) {
  CAPTURE(line.text);
  CAPTURE(in_device_memory);
  device::Device& device = context.state()->session->device();
  const sparse::Csr matrix = load_matrix(line.options, *line.job);
  const Topology topology = in_device_memory ? from_device_memory(context, matrix) : context.topology(matrix.view());
  const AnyPlan plan = line.job->plan(context, topology, line.options.plan);
  const auto operands = line.job->make_case(device, matrix, 1);
  const Workspace workspace = plan.make_workspace();
  operands->set_workspace(workspace);
  line.job->pack(device, *operands);
  CHECK(operands->verify([&](Stream stream) { line.job->execute(stream, operands->arguments()); }).wrong == "");
}

}  // namespace

TEST_CASE(
    "what was packed for the emulator plans, packs values and runs there without a compiler, from host and from device "
    "memory") {
  for (const char* problem : {"spmm --random 24x40x0.5 --n 8 --value-lifetime persistent",
                              "spmm --random 24x40x0.5 --n 8 --family row_tile --transpose"}) {
    const TemporaryFolder folder;
    const fs::path problems = folder.write("problems.txt", problem);
    const fs::path packed = folder / "packed.db";
    const PackReport report =
        pack({.like = {"emulator"}, .problems = problems, .out = packed, .cache = folder / "none"});
    for (const std::string& failure : report.failures) CHECK(failure == "");
    REQUIRE(report.devices.size() == 1);
    CHECK(report.devices[0].problems == 1);
    CHECK(report.devices[0].tuned == 0);

    const Context context(packed_only("emulator", packed, folder / "cache"));
    for (const bool in_device_memory : {false, true})
      for (const ProblemLine& line : read_problem_file(problems)) check_runs(context, line, in_device_memory);
    CHECK(context.counters().kernels_compiled == 0);
    CHECK(context.counters().code_hits > 0);
    CHECK(context.counters().code_hits <= report.devices[0].kernels);
  }
}

// Families whose forms are counted by kernels are left out: the fake driver runs none.
TEST_CASE("a plan whose kernels are in a file opens no NVRTC, on a GPU like the one that was packed for") {
  const TemporaryFolder folder;
  const fs::path problems =
      folder.write("problems.txt",
                   "spmm --random 256x512x0.9 --n 64 --family row_tile\n"
                   "spmm --random 256x512x0.9 --n 64 --family row_tile --dtype f16 --value-lifetime persistent\n"
                   "sddmm --random 256x512x0.9 --n 64 --family row_strips\n"
                   "softmax --random 256x512x0.9\n"
                   "depthwise --channels 32 --height 14\n");
  const fs::path packed = folder / "packed.db";
  PackReport report;
  {
    const FakeNvrtc nvrtc;
    report =
        pack({.like = {fake_gpu}, .problems = problems, .out = packed, .cache = folder / "none", .nvrtc = nvrtc.path});
  }
  for (const std::string& failure : report.failures) CHECK(failure == "");
  REQUIRE(report.devices.size() == 1);
  CHECK(report.devices[0].problems == 5);

  const test::FakeDriver driver(any_arguments);
  const Context context(packed_only("cuda:0", packed, folder / "cache"));
  for (const ProblemLine& line : read_problem_file(problems)) {
    CAPTURE(line.text);
    Topology topology;
    if (line.job->masked()) topology = load(line.options, *line.job, context).topology;
    CHECK(line.job->plan(context, topology, line.options.plan));
  }
  CHECK(context.counters().kernels_compiled == 0);
  CHECK(context.counters().code_hits >= 5);
}

TEST_CASE("a problem that was not packed is missing_kernel, and names what is missing") {
  const TemporaryFolder folder;
  const fs::path problems = folder.write("problems.txt", "softmax --random 256x512x0.9\n");
  const fs::path others = folder.write("others.txt", "sddmm --random 256x512x0.9 --n 64 --family row_strips\n");
  const fs::path packed = folder / "packed.db";
  {
    const FakeNvrtc nvrtc;
    pack({.like = {fake_gpu}, .problems = problems, .out = packed, .cache = folder / "none", .nvrtc = nvrtc.path});
  }
  const test::FakeDriver driver(any_arguments);
  const Context context(packed_only("cuda:0", packed, folder / "cache"));
  const ProblemLine line = std::move(read_problem_file(others).front());
  const Topology topology = load(line.options, *line.job, context).topology;
  const test::Caught error = test::caught([&] { line.job->plan(context, topology, line.options.plan); });
  CHECK(error.code == ErrorCode::missing_kernel);
  CHECK(error.says("row_strips"));
}

TEST_CASE("a context that only compiles does not execute") {
  const FakeNvrtc nvrtc;
  const Context context(
      Options{.device = std::string("compile:") + fake_gpu, .cache = {.enabled = false}, .nvrtc = nvrtc.path});
  const sparse::Csr matrix{.rows = 1, .cols = 1, .row_offsets = {0, 1}, .column_indices = {0}};
  const SpmmPlan plan = context.plan(Spmm{.n = 4}, context.topology(matrix.view()));
  alignas(16) float memory[12] = {};
  const Workspace workspace = plan.make_workspace();
  const test::Caught error = test::caught([&] {
    plan.execute(nullptr, {.values = memory, .dense = memory + 4, .output = memory + 8, .workspace = workspace});
  });
  CHECK(error.code == ErrorCode::no_device);
  CHECK(error.says("Fake GPU"));
}

TEST_CASE("what was tuned for a device is what is packed for it, and what a plan takes there") {
  const TemporaryFolder folder;
  const fs::path problems = folder.write("problems.txt", "softmax --random 256x512x0.9\n");
  const fs::path packed = folder / "packed.db";
  const fs::path tuned = folder / "tuned.db";
  const FakeNvrtc nvrtc;
  const test::FakeDriver driver(any_arguments);
  const ProblemLine line = std::move(read_problem_file(problems).front());
  FieldMap choice;
  {
    const Context context(Options{.device = "cuda:0", .cache = {.enabled = false}, .nvrtc = nvrtc.path});
    const AnyPlan plan = line.job->plan(context, load(line.options, *line.job, context).topology, line.options.plan);
    const ops::Query& query = *plan.state()->choices.front().query;
    const ops::Family& family = *ops::find_family("softmax", plan.family());
    for (const ops::Config& config : family.short_list(query))
      if (config.to_map() != plan.config() && !family.forbidden(query, config)) choice = config.to_map();
    REQUIRE(!choice.empty());
    cache::write_content(
        {.winners = {{.problem = plan::problem_key(query),
                      .device = context.state()->session->device_key(),
                      .winner = {.family = plan.family(), .config = choice, .median_us = 5, .rounds = 15}}}},
        tuned);
  }
  const fs::path text = folder.write("tuned.txt", cache::dump(tuned));
  for (const fs::path& like : {tuned, text}) {
    const PackReport report = pack(
        {.like = {like.string()}, .problems = problems, .out = packed, .cache = folder / "none", .nvrtc = nvrtc.path});
    for (const std::string& failure : report.failures) CHECK(failure == "");
    REQUIRE(report.devices.size() == 1);
    CHECK(report.devices[0].name == "Fake GPU");
    CHECK(report.devices[0].tuned == 1);
    CHECK(report.devices[0].nearest == 0);

    // A choice that was made for another size is taken where there is none, and is told apart.
    const fs::path near = folder.write(
        "near.txt", "softmax --random 256x512x0.9\nsoftmax --random 272x512x0.9\nsoftmax --random 16x8x0.5\n");
    const PackReport of_near = pack({.like = {like.string()},
                                     .problems = near,
                                     .out = folder / "near.db",
                                     .cache = folder / "none",
                                     .nvrtc = nvrtc.path});
    CHECK(of_near.devices[0].problems == 3);
    CHECK(of_near.devices[0].tuned == 1);
    CHECK(of_near.devices[0].nearest == 1);
    CHECK(contains(pack_text({}, of_near), "for 3 problems, 1 of them by tuned choices, 1 by the nearest"));
  }

  Options options = packed_only("cuda:0", packed, folder / "cache");
  options.cache.read_only.push_back(tuned);
  const Context context(options);
  const AnyPlan plan = line.job->plan(context, load(line.options, *line.job, context).topology, line.options.plan);
  CHECK(plan.config() == choice);
  CHECK(context.counters().kernels_compiled == 0);
}

TEST_CASE(
    "without problems every choice of a file is packed with what its plan needs, from matrices that stand in for what "
    "was tuned") {
  const TemporaryFolder folder;
  const fs::path problems = folder.write("problems.txt",
                                         "softmax --random 256x512x0.9\n"
                                         "spmm --random 128x96x0.8x0.7 --n 64 --value-lifetime persistent\n"
                                         "spmm --random 128x96x0.8 --n 64 --dtype f16 --transpose --family row_tile\n"
                                         "spmm --random 70000x8x0.5 --n 4 --transpose\n"
                                         "sddmm --random 64x256x0.95 --n 32 --dtype bf16 --output-dtype f32\n"
                                         "im2col --channels 3 --height 8 --width 8\n");
  const fs::path packed = folder / "packed.db";
  const fs::path tuned = folder / "tuned.db";
  const FakeNvrtc nvrtc;
  const test::FakeDriver driver(any_arguments);
  const std::vector<ProblemLine> lines = read_problem_file(problems);
  cache::TuningContent content;
  {
    const Context context(Options{.device = "cuda:0", .cache = {.enabled = false}, .nvrtc = nvrtc.path});
    for (const ProblemLine& line : lines) {
      const Loaded loaded = load(line.options, *line.job, context);
      const AnyPlan plan = line.job->plan(context, loaded.topology, line.options.plan);
      content.winners.push_back(
          {.problem = plan::problem_key(*plan.state()->choices.front().query),
           .device = context.state()->session->device_key(),
           .winner = {.family = plan.family(), .config = plan.config(), .median_us = 5, .rounds = 15}});
    }
  }
  cache::write_content(content, tuned);
  const PackReport report =
      pack({.like = {tuned.string()}, .out = packed, .cache = folder / "none", .nvrtc = nvrtc.path});
  for (const std::string& failure : report.failures) CHECK(failure == "");
  REQUIRE(report.devices.size() == 1);
  CHECK(report.devices[0].problems == std::ssize(lines));
  CHECK(report.devices[0].tuned == std::ssize(lines));
  CHECK(report.devices[0].nearest == 0);

  Options options = packed_only("cuda:0", packed, folder / "cache");
  options.cache.read_only.push_back(tuned);
  const Context context(options);
  for (const ProblemLine& line : lines) {
    CAPTURE(line.text);
    const Loaded loaded = load(line.options, *line.job, context);
    CHECK(line.job->plan(context, loaded.topology, line.options.plan).provenance() != Provenance::heuristic);
  }
  CHECK(context.counters().kernels_compiled == 0);

  const test::Caught nothing = test::caught([&] { pack({.like = {"NVIDIA H200"}, .out = packed}); });
  CHECK(nothing.code == ErrorCode::invalid_argument);
  CHECK(nothing.says("--problems"));
}

TEST_CASE("with candidates the kernels that a race tries first are packed, and fewer where fewer are asked for") {
  const TemporaryFolder folder;
  const FakeNvrtc nvrtc;
  const fs::path problems = folder.write("problems.txt", "spmm --random 128x96x0.8 --n 64\n");
  const auto kernels = [&](int candidates) {
    const PackReport report = pack({.like = {"NVIDIA H200"},
                                    .problems = problems,
                                    .candidates = candidates,
                                    .out = folder / fmt::format("{}.db", candidates),
                                    .cache = folder / "none",
                                    .nvrtc = nvrtc.path});
    for (const std::string& failure : report.failures) CHECK(failure == "");
    return report.devices[0].kernels;
  };
  const std::int64_t of_choices = kernels(0);
  const std::int64_t with_few = kernels(8);
  CHECK(with_few > of_choices);
  CHECK(kernels(300) > with_few + 200);  // beyond the short list

  const Options options = packed_only("compile:NVIDIA H200", folder / "8.db", folder / "cache");
  const Context context(options);
  const ProblemLine line = std::move(read_problem_file(problems).front());
  const Topology topology = load(line.options, *line.job, context).topology;
  const auto choices = line.job->survey(context, topology, line.options.plan).choices;
  REQUIRE(choices.size() == 1);
  const plan::Session& session = *context.state()->session;
  const auto candidates = plan::candidates_of(*choices.front().query, Effort::full, session.max_workspace_bytes());
  const std::vector<std::size_t> order = tune::race_order(candidates);
  REQUIRE(order.size() > 8);
  for (std::size_t i = 0; i < 8; ++i) {
    const tune::Candidate& raced = candidates[order[i]];
    for (const ops::Launch& launch :
         ops::find_family("spmm", raced.family)->launches(*choices.front().query, raced.config, {}))
      CHECK(session.kernels().has(launch.request(), launch.shared_bytes()));
  }
}

TEST_CASE("a choice whose problem this version does not know is a failure by its name, and the others are packed") {
  const TemporaryFolder folder;
  const FakeNvrtc nvrtc;
  const fs::path tuned = folder / "tuned.db";
  const plan::DeviceKey gpu{.name = "Fake GPU",
                            .architecture = "sm_90",
                            .multiprocessors = 132,
                            .memory_bytes = std::int64_t{1} << 34,
                            .l2_bytes = 1 << 25};
  cache::write_content({.winners = {{.problem = {.operation = "spmm",
                                                 .exact = "of_the_future=true",
                                                 .features = {.m = 8, .k = 8, .n = 4, .nonzeros = 8}},
                                     .device = gpu,
                                     .winner = {.family = "row_tile", .config = {}, .median_us = 5, .rounds = 15}}}},
                       tuned);
  const PackReport report =
      pack({.like = {tuned.string()}, .out = folder / "packed.db", .cache = folder / "none", .nvrtc = nvrtc.path});
  REQUIRE(report.failures.size() == 1);
  CHECK(contains(report.failures[0], "spmm m 8 k 8 n 4 nonzeros 8 (of_the_future=true, warm), row_tile: "));
  CHECK(report.devices[0].problems == 0);
}

TEST_CASE("what a layer of VOSTOK_READ_ONLY_CACHE holds is packed all the same") {
  const TemporaryFolder folder;
  const FakeNvrtc nvrtc;
  const fs::path problems = folder.write("problems.txt", "softmax --random 64x48x0.8\n");
  fs::create_directories(folder / "layer");
  const auto packed = [&](const fs::path& out) {
    pack({.like = {"NVIDIA H200"}, .problems = problems, .out = out, .cache = folder / "none", .nvrtc = nvrtc.path});
    cache::Connection connection(out, cache::Access::read_only, cache::tool_lock_timeout_ms);
    return connection.number("SELECT count(*) FROM code");
  };
  const std::int64_t kernels = packed(folder / "layer/code.db");
  CHECK(kernels > 0);
  setenv("VOSTOK_READ_ONLY_CACHE", (folder / "layer").c_str(), 1);
  CHECK(packed(folder / "again.db") == kernels);
  unsetenv("VOSTOK_READ_ONLY_CACHE");
}

TEST_CASE("the tool packs what it can, and says what it cannot") {
  const Tool tool;
  tool.folder().write("problems.txt", "softmax --random 64x64x0.5\nspmm --matrix missing.smtx --n 4\n");
  const fs::path out = tool.folder() / "packed.db";
  const std::string problems = (tool.folder() / "problems.txt").string();
  const std::vector<std::pair<std::string, std::string>> nvrtc = {
      {"VOSTOK_NVRTC", test::beside_executable("fake_nvrtc.so")}};
  const std::vector<std::string> command = {"pack",   "--arch", "sm_75,sm_90", "--problems",
                                            problems, "--out",  out.string(),  "--json"};
  std::vector<std::string> partial = command;
  partial.emplace_back("--partial");
  const auto outcome = tool.run(partial, nvrtc);
  CAPTURE(outcome.errors);
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.errors, "problems.txt:2 for sm_75"));
  CHECK(contains(outcome.errors, "problems.txt:2 for sm_90"));
  CHECK(contains(outcome.errors, "missing.smtx"));
  const auto object = nlohmann::json::parse(outcome.output);
  CHECK(object["devices"].size() == 2);
  CHECK(object["devices"][0]["architecture"] == "sm_75");
  CHECK(object["devices"][0]["problems"] == 1);
  CHECK(object["devices"][0]["kernels"] > 1);
  CHECK(object["failures"].size() == 2);
  CHECK(object["bytes"] == fs::file_size(out));

  const std::string before = sparse::read_bytes(out);
  const auto refused = tool.run(command, nvrtc);
  CHECK(refused.status == 2);
  CHECK(nlohmann::json::parse(refused.output)["bytes"] == 0);
  CHECK(sparse::read_bytes(out) == before);

  const auto nothing = tool.run({"pack", "--problems", problems, "--out", out.string()});
  CHECK(nothing.status == 2);
  CHECK(contains(nothing.errors, "--arch or --like"));
}

TEST_CASE("devices to pack for come from names, architectures and tuned choices, each once") {
  CHECK(pack_targets({.architectures = {"sm_90", "sm_80"}}) == std::vector<std::string>{"sm_80", "sm_90"});
  CHECK(pack_targets({.architectures = {"sm_90", "sm_80"}, .like = {"NVIDIA H200", "Tesla T4"}}) ==
        std::vector<std::string>{"NVIDIA H200", "sm_80"});
  CHECK(test::caught([] { pack_targets({}); }).code == ErrorCode::invalid_argument);
  const test::Caught unknown =
      test::caught([] { pack_targets({.architectures = {"sm_90"}, .like = {"NVIDIA H9000"}}); });
  CHECK(unknown.code == ErrorCode::invalid_argument);
  CHECK(unknown.says("NVIDIA H200"));
}
