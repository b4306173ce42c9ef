// Passes and bans count for machine code, whatever it was measured on.
#include <doctest/doctest.h>

#include "unit/cache/fixture.hpp"

using namespace vostok;
using namespace vostok::cache::testing;

namespace {

plan::TrialRecord trial_of(const std::string& code_digest, const std::string& status, const std::string& reason = {}) {
  plan::TrialRecord trial = sample_trial();
  trial.code_digest = code_digest;
  trial.status = status;
  trial.reason = reason;
  return trial;
}

}  // namespace

TEST_CASE("what is known of code is found in any layer, of any problem and device, and a failure outweighs passes") {
  const TemporaryFolder folder;
  {
    Opening shipped(in_folder(folder / "shipped"));
    shipped.tuning().add_trial(sample_problem(8), sample_device("GPU-elsewhere"), trial_of("passed", "measured"));
    shipped.tuning().add_trial(sample_problem(8), sample_device("GPU-elsewhere"),
                               trial_of("banned", "hung", "no answer"));
  }
  CacheOptions options = in_folder(folder / "user");
  options.shipped = folder / "shipped";
  Opening opening(options);
  plan::TuningStore& tuning = opening.tuning();
  tuning.add_trial(sample_problem(), sample_device(), trial_of("banned", "measured"));
  tuning.add_trial(sample_problem(), sample_device(), trial_of("unverified", "measured", plan::not_verified));
  tuning.add_trial(sample_problem(), sample_device(), trial_of("screened", "screened", "spills"));

  CHECK(tuning.standing("passed").passed);
  CHECK(tuning.standing("passed").failure.empty());
  CHECK(tuning.standing("banned").passed);
  CHECK(tuning.standing("banned").failure == "hung");
  CHECK(tuning.standing("banned").reason == "no answer");
  for (const char* code : {"unverified", "screened", "unknown"}) {
    CAPTURE(std::string(code));
    CHECK_FALSE(tuning.standing(code).passed);
    CHECK(tuning.standing(code).failure.empty());
  }
}

TEST_CASE("without a cache folder bans are remembered as long as the context lives") {
  const plan::Stores stores = plan::memory_stores();
  stores.tuning->add_trial(sample_problem(), sample_device(), trial_of("code", "measured"));
  CHECK(stores.tuning->standing("code").passed);
  stores.tuning->add_trial(sample_problem(8), sample_device(), trial_of("code", "faulted", "signal 11"));
  CHECK(stores.tuning->standing("code").failure == "faulted");
  CHECK_FALSE(stores.tuning->standing("other").passed);
}
