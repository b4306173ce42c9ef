// What the library costs the host: `execute` above a raw driver launch of the same kernel, the C interface above
// `execute`, and the times of plan, rebind and topology.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "bench/harness/current_context.hpp"
#include "bench/harness/entry.hpp"
#include "bench/harness/host_time.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/run_record.hpp"
#include "bench/peers/raw_launch.hpp"
#include "c/handles.hpp"
#include "context_state.hpp"
#include "sparse/generate.hpp"
#include "tune/spmm_case.hpp"

namespace vostok::bench {
namespace {

struct OverheadOptions : RunOptions {
  int batches = 200;
  int calls = 100;  ///< in a batch: far below what fills a stream's queue
  int repeats = 50;
};

struct Size {
  const char* name;
  std::int64_t m, k, n;
  double sparsity;
};

constexpr Size sizes[] = {{"tiny", 64, 64, 32, 0.9}, {"layer", 2048, 512, 256, 0.9}};
constexpr std::uint64_t seed = 1;

/// Microseconds of `repeats` calls, one sample each.
template <class Call>
tune::Summary time_calls(int repeats, const Call& call) {
  std::vector<double> samples_us;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    call();
    samples_us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  return tune::summarise(samples_us);
}

class Overhead {
 public:
  explicit Overhead(const OverheadOptions& options)
      : options_(with_folder(options, folder_)),
        context_(open_context(options_)),
        current_(options.device, context_.device().gpu),
        record_("overhead", options, context_) {}

  void run() {
    print_device(context_.device());
    for (const Size& size : sizes) {
      const sparse::Csr matrix = sparse::uniform(size.m, size.k, size.sparsity, seed);
      Json row = {{"problem", size.name}, {"m", size.m}, {"k", size.k}, {"n", size.n}, {"sparsity", size.sparsity}};
      std::fputs(
          fmt::format("\n{}: {}x{} {:.0f} % sparse, n = {}\n", size.name, size.m, size.k, 100 * size.sparsity, size.n)
              .c_str(),
          stdout);
      measure_execute(matrix, size, row);
      measure_c(matrix, row);
      measure_planning(matrix, size, row);
      record_.add_row(std::move(row));
      record_.write(&size == std::end(sizes) - 1);
    }
  }

 private:
  static OverheadOptions with_folder(OverheadOptions options, const TemporaryFolder& folder) {
    if (options.cache.empty()) options.cache = folder.path();
    return options;
  }

  device::Device& device() const { return context_.state()->session->device(); }

  void measure_execute(const sparse::Csr& matrix, const Size& size, Json& row) {
    const Topology topology = context_.topology(matrix.view());
    const SpmmPlan plan = context_.plan(Spmm{.n = size.n}, topology);
    tune::SpmmCase operands(device(), plan.problem(), matrix, seed);
    const SpmmArguments arguments = operands.call();
    const tune::Check check = operands.verify([&](Stream stream) { plan.execute(stream, arguments); });
    if (!check.wrong.empty()) fail(ErrorCode::internal, "cannot measure a wrong product: {}", check.wrong);
    record_.note_template(plan.state()->choices.back().launches.front().request().header);

    const Stream stream = device().own_stream();
    std::vector<HostCall> calls;
    std::unique_ptr<RawLaunch> raw;
    if (context_.device().gpu) {
      raw = std::make_unique<RawLaunch>(current_.driver(), plan, arguments, stream);
      calls.push_back({.name = "cuLaunchKernelEx", .batch = [&](int count) {
                         for (int i = 0; i < count; ++i) (*raw)();
                       }});
    }
    calls.push_back({.name = "execute", .batch = [&](int count) {
                       for (int i = 0; i < count; ++i) plan.execute(stream, arguments);
                     }});
    const HostTimes times =
        time_host_calls(calls, options_.calls, options_.batches, [&] { device().synchronize(stream); });

    Json list = Json::object();
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const HostTime& time = times.calls[i];
      list[calls[i].name] = {{"median_ns", number(time.median_ns)}, {"spread_ns", number(time.spread_ns)}};
      std::fputs(
          fmt::format("  {:<34} {:>10.0f} +- {:.0f} ns\n", calls[i].name, time.median_ns, time.spread_ns).c_str(),
          stdout);
    }
    row["calls"] = std::move(list);
    row["batches"] = options_.batches;
    row["calls_per_batch"] = options_.calls;
    row["execute_above_raw_ns"] = nullptr;
    if (!raw) {
      std::fputs("  cuLaunchKernelEx                   absent: there is no driver on the emulator\n", stdout);
      return;
    }
    const HostTime& above = times.above_first.back();
    row["execute_above_raw_ns"] = {{"median_ns", number(above.median_ns)}, {"spread_ns", number(above.spread_ns)}};
    std::fputs(fmt::format("  {:<34} {:>10.0f} +- {:.0f} ns\n", "execute above cuLaunchKernelEx", above.median_ns,
                           above.spread_ns)
                   .c_str(),
               stdout);
  }

  /// What a call in C costs more than one in C++: of plans without anything to compute, so that no launch hides it.
  void measure_c(const sparse::Csr& matrix, Json& row) {
    const Topology topology = context_.topology(matrix.view());
    const SpmmPlan idle = context_.plan(Spmm{.n = 0}, topology);
    const vostok_plan plan{c::AnyOperation(idle)};
    const SpmmArguments arguments = {};
    vostok_spmm_arguments c_arguments;
    vostok_spmm_arguments_init(&c_arguments, sizeof c_arguments);
    const std::vector<HostCall> calls = {{.name = "execute, nothing to compute",
                                          .batch =
                                              [&](int count) {
                                                for (int i = 0; i < count; ++i) idle.execute(nullptr, arguments);
                                              }},
                                         {.name = "vostok_execute_spmm, the same", .batch = [&](int count) {
                                            for (int i = 0; i < count; ++i)
                                              if (vostok_execute_spmm(&plan, nullptr, &c_arguments) != VOSTOK_OK)
                                                fail(ErrorCode::internal, "cannot execute in C: {}",
                                                     vostok_last_error());
                                          }}};
    constexpr int idle_calls = 1000;  // no queue fills
    const HostTimes times = time_host_calls(calls, idle_calls, options_.batches, [] {});
    const HostTime& above = times.above_first.back();
    row["c_above_execute_ns"] = {{"median_ns", number(above.median_ns)}, {"spread_ns", number(above.spread_ns)}};
    for (std::size_t i = 0; i < calls.size(); ++i)
      std::fputs(fmt::format("  {:<34} {:>10.1f} +- {:.1f} ns\n", calls[i].name, times.calls[i].median_ns,
                             times.calls[i].spread_ns)
                     .c_str(),
                 stdout);
  }

  void measure_planning(const sparse::Csr& matrix, const Size& size, Json& row) {
    const Spmm problem{.n = size.n};
    const sparse::Csr other_matrix = sparse::uniform(size.m, size.k, size.sparsity, seed + 1);
    const Topology topology = context_.topology(matrix.view());
    const Topology other = context_.topology(other_matrix.view());
    const SpmmPlan plan = context_.plan(problem, topology);
    row["planning"] = Json::object();
    const auto note = [&](const char* name, const tune::Summary& summary) {
      row["planning"][name] = {{"median_us", number(summary.median_us)}, {"spread_us", number(summary.spread_us)}};
      std::fputs(fmt::format("  {:<34} {:>10.1f} +- {:.1f} us\n", name, summary.median_us, summary.spread_us).c_str(),
                 stdout);
    };
    note("topology", time_calls(options_.repeats, [&] { context_.topology(matrix.view()); }));
    note("plan, decided before", time_calls(options_.repeats, [&] { context_.plan(problem, topology); }));
    note("rebind", time_calls(options_.repeats, [&] { plan.rebind(other); }));
    measure_cold_contexts(matrix, problem, note);
  }

  /// New contexts over a cache that holds the kernel already: what a process pays at its start.
  template <class Note>
  void measure_cold_contexts(const sparse::Csr& matrix, const Spmm& problem, const Note& note) {
    constexpr int contexts = 7;
    std::vector<double> open_us, plan_us;
    std::int64_t compiled = 0;
    for (int i = 0; i < contexts; ++i) {
      std::vector<Context> opened;
      open_us.push_back(time_calls(1, [&] { opened.push_back(open_context(options_)); }).median_us);
      const Context& fresh = opened.front();
      const Topology topology = fresh.topology(matrix.view());
      plan_us.push_back(time_calls(1, [&] { fresh.plan(problem, topology); }).median_us);
      compiled += fresh.counters().kernels_compiled;
    }
    note("context", tune::summarise(open_us));
    note("plan from a warm cache, new context", tune::summarise(plan_us));
    if (compiled > 0)
      std::fputs(
          fmt::format("  note: {} kernels were compiled by the new contexts: the cache does not keep them\n", compiled)
              .c_str(),
          stdout);
  }

  TemporaryFolder folder_;
  OverheadOptions options_;
  Context context_;
  CurrentContext current_;
  RunRecord record_;
};

}  // namespace
}  // namespace vostok::bench

int main(int argc, char** argv) {
  using namespace vostok::bench;
  OverheadOptions options;
  CLI::App app(
      "What the library costs the host, beside a raw driver launch of the same kernel. Without --cache, a temporary "
      "one is used.",
      "bench_overhead");
  add_options(app, options);
  app.add_option("--batches", options.batches, "Batches of calls")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--calls", options.calls, "Calls in a batch")->capture_default_str()->check(CLI::Range(1, 500));
  app.add_option("--repeats", options.repeats, "Samples of plan, rebind and topology")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  return run_program(app, argc, argv, options, [&] {
    Overhead(options).run();
    return 0;
  });
}
