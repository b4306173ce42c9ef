// Every config compiles for the architectures it may run on. NVRTC alone: no GPU and no driver. VOSTOK_SWEEP=full takes the
// whole space where a seeded share is usual.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/environment.hpp"
#include "codegen/source.hpp"
#include "device/device.hpp"
#include "ops/spmm/family.hpp"
#include "sparse/generate.hpp"

using namespace vostok;

namespace {

constexpr std::uint64_t seed = 20202;

struct Job {
  codegen::KernelRequest request;
  std::string architecture;
  bool is_default = false;
};

/// Problems whose traits differ in everything that a kernel takes from a problem. No device: limits of every GPU since sm_75.
std::vector<ops::SpmmQuery> queries() {
  const TopologyStatistics usual{.rows = 512, .cols = 2048, .nonzeros = 100000, .longest_row = 200, .mean_row = 195};
  TopologyStatistics long_rows = usual;
  long_rows.longest_row = 2000;
  TopologyStatistics wide = usual;
  wide.cols = 1 << 20;
  const auto query = [](Spmm problem, const TopologyStatistics& statistics) {
    problem.index = IndexType::i32;
    return ops::SpmmQuery{.problem = problem, .statistics = statistics, .n = {problem.n, problem.n}};
  };
  return {query({.n = 256}, usual),
          query({.n = 256, .epilogue = {.bias = Bias::per_row, .activation = Activation::relu}}, long_rows),
          query({.n = 50176, .epilogue = {.bias = Bias::per_column, .scale = Scale::host}}, usual),
          query({.n = 1024, .math = Math::strict}, wide),
          query({.n = 1}, usual),
          query({.n = 6}, long_rows),
          query({.n = 255, .alignment_bytes = 4}, wide)};
}

std::vector<FieldMap> admitted(const ops::SpmmFamily& family, const ops::SpmmQuery& query) {
  std::vector<FieldMap> configs;
  for (FieldMap& config : family.space(query))
    if (!family.forbidden(query, config)) configs.push_back(std::move(config));
  return configs;
}

void add_default(std::vector<Job>& jobs, const ops::SpmmFamily& family, const ops::SpmmQuery& query, const std::string& architecture) {
  jobs.push_back({family.kernel(query, family.default_config(query)), architecture, true});
}

void add_sample(std::vector<Job>& jobs, const ops::SpmmFamily& family, const ops::SpmmQuery& query, const std::string& architecture,
                std::size_t count) {
  std::vector<FieldMap> configs = admitted(family, query);
  sparse::Random random(seed);
  for (std::size_t i = 0; i < std::min(count, configs.size()); ++i) {
    const auto other = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(configs.size() - i)));
    std::swap(configs[i], configs[i + other]);
    jobs.push_back({family.kernel(query, configs[i]), architecture});
  }
}

std::vector<Job> make_jobs(const device::Compiler& nvrtc) {
  const bool full = environment("VOSTOK_SWEEP").value_or("") == "full";
  std::vector<Job> jobs;
  for (const auto& family : ops::spmm_families())
    for (const std::string& architecture : device::nvrtc_architectures(nvrtc)) {
      const bool main_target = architecture == "sm_80" || architecture == "sm_90";
      for (const ops::SpmmQuery& query : queries()) {
        if (family->declines(query)) continue;
        add_default(jobs, *family, query, architecture);
        add_sample(jobs, *family, query, architecture, full && main_target ? 100000 : main_target ? 40 : 2);
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
};

void compile_one(const device::Compiler& nvrtc, const Job& job, std::mutex& mutex, Tally& tally) {
  try {
    const device::Image image = nvrtc.compile(codegen::make_source(job.request, job.architecture));
    const std::lock_guard lock(mutex);
    if (image.spill_bytes > 0) ++tally.spilling;
    if (image.spill_bytes > 0 && job.is_default && tally.spilling_defaults++ == 0)
      tally.first_spilling_default = job.architecture + ": " + job.request.expression;
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

TEST_CASE("default configs compile without spills for every architecture, and configs of the space compile") {
  std::shared_ptr<const device::Compiler> nvrtc;
  try {
    nvrtc = device::open_nvrtc(std::nullopt);
  } catch (const Error& error) {
    std::printf("compile sweep skipped: %s\n", error.what());
    return;
  }
  const std::vector<Job> jobs = make_jobs(*nvrtc);
  const Tally tally = compile_all(*nvrtc, jobs);
  std::printf("compile sweep: %zu kernels for %zu architectures, seed %llu; %d spill\n", jobs.size(), device::nvrtc_architectures(*nvrtc).size(),
              static_cast<unsigned long long>(seed), tally.spilling);
  CHECK(jobs.size() > 500);
  CHECK_MESSAGE(tally.failed == 0, tally.first_failure);
  CHECK_MESSAGE(tally.spilling_defaults == 0, tally.first_spilling_default);
}
