// Every family's configs compile for the architectures that they may run on. NVRTC alone: no GPU and no driver.
// VOSTOK_SWEEP=full takes the whole space where a seeded share is usual.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/environment.hpp"
#include "codegen/source.hpp"
#include "compile/sweep_queries.hpp"
#include "device/device.hpp"
#include "sparse/generate.hpp"

using namespace vostok;

namespace {

constexpr std::uint64_t seed = 20202;

/// The problems of every operation: a new one is a line here.
const std::map<std::string_view, test::SweepQueries (*)()> queries_of = {
    {"spmm", test::spmm_queries},           {"sddmm", test::sddmm_queries},
    {"softmax", test::softmax_queries},     {"softmax_backward", test::softmax_backward_queries},
    {"depthwise", test::depthwise_queries}, {"bias_activation", test::bias_activation_queries},
    {"im2col", test::im2col_queries},
};

/// One kernel for one architecture, and whether a default config needs it.
struct Job {
  codegen::KernelRequest request;
  std::string architecture;
  bool is_default = false;
};

/// Each kernel once, however many configs launch it; defaults first.
class Jobs {
 public:
  void add(const ops::Family& family, const ops::Query& query, const FieldMap& config, const std::string& architecture, bool is_default) {
    for (const ops::Launch& launch : family.launches(query, config, {}))
      if (seen_.insert({launch.request().expression, architecture}).second) list_.push_back({launch.request(), architecture, is_default});
  }
  const std::vector<Job>& list() const { return list_; }

 private:
  std::set<std::pair<std::string, std::string>> seen_;
  std::vector<Job> list_;
};

/// A problem with what the family's rules admit of its space.
struct Space {
  std::shared_ptr<const ops::Query> query;
  std::vector<FieldMap> configs;
};

std::vector<Space> spaces_of(const ops::Family& family, const test::SweepQueries& queries) {
  std::vector<Space> spaces;
  for (const auto& query : queries) {
    if (family.declines(*query)) continue;
    spaces.push_back({.query = query, .configs = {}});
    for (FieldMap& config : family.space(*query))
      if (!family.forbidden(*query, config)) spaces.back().configs.push_back(std::move(config));
  }
  return spaces;
}

void add_everything(Jobs& jobs, const ops::Family& family, const std::vector<Space>& spaces, const std::string& architecture) {
  for (const Space& space : spaces)
    for (const FieldMap& config : space.configs) jobs.add(family, *space.query, config, architecture, false);
}

void add_sample(Jobs& jobs, const ops::Family& family, const std::vector<Space>& spaces, const std::string& architecture, int count) {
  sparse::Random random(seed);
  const auto one_of = [&](const auto& list) -> const auto& { return list[static_cast<std::size_t>(random.below(std::ssize(list)))]; };
  for (int i = 0; i < count; ++i) {
    const Space& space = one_of(spaces);
    jobs.add(family, *space.query, one_of(space.configs), architecture, false);
  }
}

Jobs make_jobs(const device::Compiler& nvrtc, std::string_view operation) {
  const bool full = environment("VOSTOK_SWEEP").value_or("") == "full";
  Jobs jobs;
  for (const auto& family : ops::families(operation)) {
    const std::vector<Space> spaces = spaces_of(*family, queries_of.at(operation)());
    for (const std::string& architecture : device::nvrtc_architectures(nvrtc)) {
      if (!family->runs_on(architecture)) continue;
      const bool main_target = architecture == "sm_80" || architecture == "sm_90";
      for (const Space& space : spaces) jobs.add(*family, *space.query, family->default_config(*space.query), architecture, true);
      if (full && main_target) add_everything(jobs, *family, spaces, architecture);
      else add_sample(jobs, *family, spaces, architecture, main_target ? 16 : 1);
    }
  }
  return jobs;
}

struct Tally {
  int failed = 0;
  int spilling_defaults = 0;
  int spilling = 0;
  std::string first_failure;
  std::string first_spilling_default;
  int slow_defaults = 0;  ///< of which ptxas says that they are serialised, or ignore an instruction
  std::string first_slow_default;
};

void compile_one(const device::Compiler& nvrtc, const Job& job, std::mutex& mutex, Tally& tally) {
  try {
    const device::Image image = nvrtc.compile(codegen::make_source(job.request, job.architecture));
    const std::lock_guard lock(mutex);
    if (image.spill_bytes > 0) ++tally.spilling;
    if (image.spill_bytes > 0 && job.is_default && tally.spilling_defaults++ == 0)
      tally.first_spilling_default = job.architecture + ": " + job.request.expression;
    if (!image.warnings.empty() && job.is_default && tally.slow_defaults++ == 0)
      tally.first_slow_default = job.architecture + ": " + image.warnings.front();
  } catch (const Error& error) {
    const std::lock_guard lock(mutex);
    if (tally.failed++ == 0) tally.first_failure = job.architecture + ": " + error.what();
  }
}

Tally compile_all(const device::Compiler& nvrtc, const std::vector<Job>& jobs) {
  Tally tally;
  std::mutex mutex;
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++) compile_one(nvrtc, jobs[i], mutex, tally);
  };
  std::thread second(work);
  work();
  second.join();
  return tally;
}

}  // namespace

TEST_CASE("every operation has problems to compile for, and each of its families takes one of them") {
  for (const std::string_view operation : ops::operations()) {
    INFO("operation ", std::string(operation));
    REQUIRE(queries_of.contains(operation));
    const test::SweepQueries queries = queries_of.at(operation)();
    for (const auto& family : ops::families(operation))
      CHECK_MESSAGE(std::any_of(queries.begin(), queries.end(), [&](const auto& query) { return !family->declines(*query); }), family->name());
  }
}

TEST_CASE("default configs compile without spills for every architecture, and configs of the space compile") {
  std::shared_ptr<const device::Compiler> nvrtc;
  try {
    nvrtc = device::open_nvrtc(std::nullopt);
  } catch (const Error& error) {
    std::printf("compile sweep skipped: %s\n", error.what());
    return;
  }
  for (const auto& [operation, queries] : queries_of) {
    const Jobs jobs = make_jobs(*nvrtc, operation);
    const Tally tally = compile_all(*nvrtc, jobs.list());
    std::printf("compile sweep, %s: %zu kernels for %zu architectures, seed %llu; %d spill\n", std::string(operation).c_str(), jobs.list().size(),
                device::nvrtc_architectures(*nvrtc).size(), static_cast<unsigned long long>(seed), tally.spilling);
    CHECK(jobs.list().size() >= 20);
    CHECK_MESSAGE(tally.failed == 0, tally.first_failure);
    CHECK_MESSAGE(tally.spilling_defaults == 0, tally.first_spilling_default);
    CHECK_MESSAGE(tally.slow_defaults == 0, tally.first_slow_default);
  }
}
