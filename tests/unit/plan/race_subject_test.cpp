// Candidates on a case: which memory their launches read, warm and cold.
#include "plan/race_subject.hpp"

#include <abi/bias_activation.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <utility>

#include "ops/conv/problem.hpp"
#include "tune/conv_case.hpp"
#include "unit/plan/fixture.hpp"

using namespace vostok;
using test::Fixture;

namespace {

/// Keeps what launches were given.
class SeeingDevice : public test::FakeDevice {
 public:
  mutable std::vector<BiasActivationArgs> seen;
  mutable std::vector<std::pair<int, std::int64_t>> fills;  ///< value and bytes
  void fill(Stream stream, void* memory, int value, std::int64_t bytes) const override {
    fills.emplace_back(value, bytes);
    FakeDevice::fill(stream, memory, value, bytes);
  }
  void launch(Stream, const device::Kernel&, const device::LaunchShape&, const void* arguments,
              std::size_t bytes) const override {
    BiasActivationArgs args{};
    REQUIRE(bytes == sizeof args);
    std::memcpy(&args, arguments, bytes);
    seen.push_back(args);
  }
};

struct Racing {
  explicit Racing(Policy policy, std::int64_t rows = 8, std::int64_t columns = 12,
                  std::shared_ptr<SeeingDevice> on = std::make_shared<SeeingDevice>())
      : device(std::move(on)) {
    fixture.device = device;
    session = fixture.session();
    const auto query = ops::make_query(BiasActivation{.rows = rows, .columns = columns, .bias = Bias::per_row}, {},
                                       {0, 0}, device.get());
    query->policy = policy;
    task.query = query;
    task.make_case = [this, query] { return std::make_unique<tune::BiasActivationCase>(*device, query->problem, 1); };
    subject = std::make_unique<plan::RaceSubject>(*session, task, 256);
    const ops::Family& family = *ops::find_family("bias_activation", "bias_activation");
    compiled = subject->compile({.family = "bias_activation", .config = family.default_config(*query)});
  }

  /// A GPU with a small cache: what passes it takes 220 MB.
  static std::shared_ptr<SeeingDevice> gpu() {
    auto gpu = std::make_shared<SeeingDevice>();
    gpu->be_a_gpu();
    return gpu;
  }

  std::shared_ptr<SeeingDevice> device;
  Fixture fixture;
  std::shared_ptr<plan::Session> session;
  plan::Task task;
  std::unique_ptr<plan::RaceSubject> subject;
  tune::Compiled compiled;
};

}  // namespace

TEST_CASE("warm launches read the case's operands again and again, and nothing is flushed") {
  Racing racing(Policy::warm);
  CHECK_FALSE(racing.subject->rotation().flush);
  CHECK(racing.subject->rotation().copies == 1);
  CHECK_FALSE(racing.compiled.timed);
  for (int i = 0; i < 2; ++i) racing.compiled.enqueue(nullptr);
  REQUIRE(racing.device->seen.size() == 2);
  CHECK(racing.device->seen[0].input == racing.device->seen[1].input);
}

TEST_CASE("cold launches take copies of the operands in turn, with the same values and the outputs apart") {
  Racing racing(Policy::cold);
  REQUIRE(racing.subject->rotation().copies == 2);
  CHECK_FALSE(racing.subject->rotation().flush);
  for (int i = 0; i < 3; ++i) racing.compiled.timed(nullptr);
  racing.compiled.enqueue(nullptr);  // what is verified is the case's own output
  const auto& seen = racing.device->seen;
  REQUIRE(seen.size() == 4);
  CHECK(seen[0].input != seen[1].input);
  CHECK(seen[0].output != seen[1].output);
  CHECK(seen[0].bias != seen[1].bias);
  CHECK(std::memcmp(seen[0].input, seen[1].input, std::size_t{8} * 12 * sizeof(float)) == 0);
  const auto* const bias = static_cast<const float*>(seen[0].bias);
  CHECK(std::equal(bias, bias + 8, static_cast<const float*>(seen[1].bias)));
  CHECK(seen[2].input == seen[0].input);
  CHECK(seen[3].output == seen[0].output);
}

TEST_CASE("so many copies are taken in turn that the cache cannot hold them, and then nothing is flushed") {
  // Input and output of 4 MB each, and a little bias: 27 of them pass 220 MB.
  const Racing racing(Policy::cold, 1024, 1024, Racing::gpu());
  CHECK(racing.subject->rotation().copies == 27);
  CHECK_FALSE(racing.subject->rotation().flush);
  for (int i = 0; i < 28; ++i) racing.compiled.timed(nullptr);
  std::set<const void*> inputs;
  for (const auto& call : racing.device->seen) inputs.insert(call.input);
  CHECK(inputs.size() == 27);
}

TEST_CASE("small operands, of which the cache holds as many copies as a replay takes, are timed behind a flush") {
  const Racing racing(Policy::cold, 8, 12, Racing::gpu());
  CHECK(racing.subject->rotation().copies == 50);
  CHECK(racing.subject->rotation().flush);
}

TEST_CASE("where there is no memory for the copies the case's own operands are timed behind a flush") {
  const std::shared_ptr<SeeingDevice> device = Racing::gpu();
  int allocations = 0;
  device->on_allocate = [&](std::int64_t) { ++allocations; };
  {
    const Racing warm(Policy::warm, 1024, 1024, device);
  }
  device->on_allocate = [&](std::int64_t) {
    if (--allocations == -1) fail(ErrorCode::out_of_memory, "no memory is left for a copy");
  };
  const Racing racing(Policy::cold, 1024, 1024, device);
  REQUIRE(allocations < -1);
  CHECK(racing.subject->rotation().copies == 1);
  CHECK(racing.subject->rotation().flush);
  REQUIRE(racing.compiled.timed);
  for (int i = 0; i < 2; ++i) racing.compiled.timed(nullptr);
  CHECK(racing.device->seen[0].input == racing.device->seen[1].input);
}

TEST_CASE("a workspace is poisoned before an output is looked at, and an output that nobody wrote is wrong") {
  Racing racing(Policy::warm);
  const std::string wrong = racing.subject->verify(racing.compiled).value_or("");
  CHECK(wrong.find("was not written") != std::string::npos);
  CHECK(racing.device->fills.front() == std::pair<int, std::int64_t>(0xff, 256));
}

TEST_CASE("code that spills is not worth measuring, unless it is the default or what plans take so far") {
  Racing racing(Policy::warm);
  racing.device->fake_compiler.spill_bytes = 8;
  const ops::Query& query = *racing.task.query;
  const tune::Candidate standard{
      .family = "bias_activation",
      .config = ops::find_family("bias_activation", "bias_activation")->default_config(query)};
  tune::Candidate other = standard;
  auto config = standard.config.as<BiasActivationConfig>();
  config.block_threads = config.block_threads == 64 ? 128 : 64;
  other.config = ops::Config::of(config);
  CHECK(racing.subject->compile(other).screened == "spills 8 bytes of registers");
  for (const auto& [is_default, in_use] : {std::pair{true, false}, std::pair{false, true}}) {
    other.is_default = is_default;
    other.in_use = in_use;
    const tune::Compiled compiled = racing.subject->compile(other);
    CHECK(compiled.screened.empty());
    CHECK(compiled.spill_bytes == 8);
    CHECK(compiled.enqueue);
  }
}
