#include "plan/trial_writer.hpp"

#include <mutex>

#include "unit/plan/fixture.hpp"

using namespace vostok;

namespace {

/// A store whose transactions wait while a test holds the disk.
class SlowTuning : public test::ScriptedTuning {
 public:
  std::mutex disk;
  void add_trials(const plan::ProblemKey& problem, const plan::DeviceKey& device,
                  std::span<const plan::TrialRecord> trials) override {
    const std::lock_guard lock(disk);
    ScriptedTuning::add_trials(problem, device, trials);
  }
};

}  // namespace

TEST_CASE("every trial is stored when the writer goes") {
  test::ScriptedTuning store;
  {
    plan::TrialWriter writer(store, {}, {});
    for (int i = 0; i < 1000; ++i) writer.add({.family = std::to_string(i)});
  }
  REQUIRE(store.added.size() == 1000);
  for (int i = 0; i < 1000; ++i) CHECK(store.added[static_cast<std::size_t>(i)].family == std::to_string(i));
}

TEST_CASE("adding never waits for the disk, and what came in meanwhile is stored together") {
  SlowTuning store;
  {
    plan::TrialWriter writer(store, {}, {});
    {
      const std::lock_guard busy(store.disk);
      for (int i = 0; i < 100; ++i) writer.add({.family = "trial"});
    }
  }
  CHECK(store.added.size() == 100);
  CHECK(store.additions <= 2);
}

TEST_CASE("a writer without trials stores nothing") {
  test::ScriptedTuning store;
  {
    const plan::TrialWriter writer(store, {}, {});
  }
  CHECK(store.additions == 0);
}
