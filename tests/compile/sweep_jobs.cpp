#include "compile/sweep_jobs.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/stopwatch.hpp"
#include "sparse/generate.hpp"

namespace vostok::test {

namespace {

Outcome compile(const device::Compiler& nvrtc, const Job& job) {
  Outcome outcome;
  const Stopwatch watch;
  try {
    outcome.image = nvrtc.compile(codegen::make_source(job.request, job.architecture));
  } catch (const Error& error) {
    outcome.failure = error.what();
  }
  outcome.seconds = watch.seconds();
  return outcome;
}

}  // namespace

const std::map<std::string_view, SweepQueries (*)()>& sweep_queries() {
  static const std::map<std::string_view, SweepQueries (*)()> queries = {
      {"spmm", spmm_queries},           {"sddmm", sddmm_queries},
      {"softmax", softmax_queries},     {"softmax_backward", softmax_backward_queries},
      {"attention", attention_queries}, {"attention_backward", attention_backward_queries},
      {"depthwise", depthwise_queries}, {"bias_activation", bias_activation_queries},
      {"im2col", im2col_queries},
  };
  return queries;
}

std::vector<Space> spaces_of(const ops::Family& family, const SweepQueries& queries) {
  std::vector<Space> spaces;
  for (const auto& query : queries) {
    if (family.declines(*query)) continue;
    spaces.push_back({.query = query, .configs = {}});
    for (ops::Config& config : family.space(*query))
      if (!family.forbidden(*query, config)) spaces.back().configs.push_back(std::move(config));
  }
  return spaces;
}

bool Jobs::add(const codegen::KernelRequest& request, const std::string& architecture, bool is_default) {
  if (!seen_.insert({request.expression, architecture}).second) return false;
  list_.push_back({request, architecture, is_default});
  return true;
}

void Jobs::add(const ops::Family& family, const ops::Query& query, const ops::Config& config,
               const std::string& architecture, bool is_default) {
  for (const ops::Launch& launch : family.launches(query, config, {})) add(launch.request(), architecture, is_default);
}

void Jobs::add_defaults(const ops::Family& family, const std::vector<Space>& spaces, const std::string& architecture,
                        std::size_t every, std::size_t first) {
  for (std::size_t i = first; i < spaces.size(); i += every)
    add(family, *spaces[i].query, family.default_config(*spaces[i].query), architecture, true);
}

void Jobs::add_everything(const ops::Family& family, const std::vector<Space>& spaces,
                          const std::string& architecture) {
  for (const Space& space : spaces)
    for (const ops::Config& config : space.configs) add(family, *space.query, config, architecture, false);
}

void Jobs::add_sample(const ops::Family& family, const std::vector<Space>& spaces, const std::string& architecture,
                      int count, std::uint64_t seed) {
  sparse::Random random(seed);
  const auto one_of = [&](const auto& list) -> const auto& {
    return list[static_cast<std::size_t>(random.below(std::ssize(list)))];
  };
  for (int i = 0; i < count; ++i) {
    const Space& space = one_of(spaces);
    add(family, *space.query, one_of(space.configs), architecture, false);
  }
}

void compile_jobs(const device::Compiler& nvrtc, std::span<const Job> jobs, int threads,
                  const std::function<bool(const Job& job, const Outcome& outcome)>& report) {
  std::mutex mutex;
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> goes_on = true;
  const auto work = [&] {
    for (std::size_t i = next++; goes_on && i < jobs.size(); i = next++) {
      const Outcome outcome = compile(nvrtc, jobs[i]);
      const std::lock_guard lock(mutex);
      if (!report(jobs[i], outcome)) goes_on = false;
    }
  };
  if (threads <= 0) threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
}

}  // namespace vostok::test
