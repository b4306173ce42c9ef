// Candidates on a case: which memory their launches read, warm and cold.
#include "plan/race_subject.hpp"

#include <abi/bias_activation.h>

#include <algorithm>
#include <cstring>
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
  void launch(Stream, const device::Kernel&, const device::LaunchShape&, const void* arguments, std::size_t bytes) const override {
    BiasActivationArgs args{};
    REQUIRE(bytes == sizeof args);
    std::memcpy(&args, arguments, bytes);
    seen.push_back(args);
  }
};

struct Racing {
  explicit Racing(Policy policy) {
    fixture.device = device;
    session = fixture.session();
    const auto query = ops::make_query(BiasActivation{.rows = 8, .columns = 12, .bias = Bias::per_row}, {}, {0, 0}, device.get());
    query->policy = policy;
    task.query = query;
    task.make_case = [this, query] { return std::make_unique<tune::BiasActivationCase>(*device, query->problem, 1); };
    subject = std::make_unique<plan::RaceSubject>(*session, task, 256);
    const ops::Family& family = *ops::find_family("bias_activation", "bias_activation");
    compiled = subject->compile({.family = "bias_activation", .config = family.default_config(*query)});
  }

  std::shared_ptr<SeeingDevice> device = std::make_shared<SeeingDevice>();
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
  CHECK_FALSE(racing.compiled.timed);
  for (int i = 0; i < 2; ++i) racing.compiled.enqueue(nullptr);
  REQUIRE(racing.device->seen.size() == 2);
  CHECK(racing.device->seen[0].input == racing.device->seen[1].input);
}

TEST_CASE("cold launches take copies of the operands in turn, with the same values and the outputs apart") {
  Racing racing(Policy::cold);
  const int copies = racing.subject->rotation().copies;
  REQUIRE(copies == 2);
  REQUIRE(racing.subject->rotation().flush);
  for (int i = 0; i < 3; ++i) racing.compiled.timed(nullptr);
  racing.compiled.enqueue(nullptr);  // what is verified is the case's own output
  const auto& seen = racing.device->seen;
  REQUIRE(seen.size() == 4);
  CHECK(seen[0].input != seen[1].input);
  CHECK(seen[0].output != seen[1].output);
  CHECK(seen[0].bias != seen[1].bias);
  CHECK(std::memcmp(seen[0].input, seen[1].input, std::size_t{8} * 12 * sizeof(float)) == 0);
  CHECK(std::equal(seen[0].bias, seen[0].bias + 8, seen[1].bias));
  CHECK(seen[2].input == seen[0].input);
  CHECK(seen[3].output == seen[0].output);
}

TEST_CASE("a workspace is poisoned before an output is looked at, and an output that nobody wrote is wrong") {
  Racing racing(Policy::warm);
  const std::string wrong = racing.subject->verify(racing.compiled).value_or("");
  CHECK(wrong.find("was not written") != std::string::npos);
  CHECK(racing.device->fills.front() == std::pair<int, std::int64_t>(0xff, 256));
}
