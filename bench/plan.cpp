// What a plan costs the host, for each family: made anew in a process that has
// no cache (and, with --helpers, no more than a code.db of `vostok pack --helpers`), from a cold process's files (the
// kernels, and the choice as tuning stores it or, without one, as the cost models make it), and when everything is
// there. Each first plan is made in a process of its own, because a process pays once for what its plans share. On
// "compile:NAME" no GPU is needed: everything but the driver's part (loading, attributes, building the topology's
// forms) is measured. The file is written after each row: a run that is ended keeps what it has.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>

#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "bench/harness/json.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/run_record.hpp"
#include "ops/family.hpp"
#include "plan/features.hpp"
#include "plan/plan_state.hpp"
#include "plan/session.hpp"
#include "sparse/generate.hpp"
#include "tune/samples.hpp"

namespace vostok::bench {
namespace {

constexpr double decided_goal_us = 20;
constexpr double cold_goal_us = 1000;
constexpr double one_kernel_goal_us = 150e3;
constexpr double any_goal_us = 400e3;
constexpr std::uint64_t seed = 1;

struct PlanBenchOptions : RunOptions {
  int repeats = 50;
  int processes = 5;
  int cold_processes = 9;
  std::string filter = {};
  std::filesystem::path helpers = {};  ///< a code.db; empty: none
  std::string once = {};               ///< of a child process: the subject's name
  bool may_compile = false;
  bool keep_choice = false;
};

/// A problem that is planned with one family, or with any (an empty name).
struct Subject {
  std::string name;
  std::string family;
  double sparsity;
  std::function<AnyPlan(const Context&, const Topology&, const PlanOptions&)> plan;
};

template <class Problem>
void add(std::vector<Subject>& subjects, const std::string& operation, const std::string& words, double sparsity,
         const Problem& problem) {
  std::vector<std::string> families = {""};
  for (const auto& family : ops::families(operation)) families.emplace_back(family->name());
  for (const std::string& family : families) {
    const std::string name = fmt::format("{} {}{}{}", operation, words, family.empty() ? "" : " ", family);
    subjects.push_back(
        {name, family, sparsity,
         [problem](const Context& context, const Topology& topology, const PlanOptions& options) -> AnyPlan {
           return context.plan(problem, topology, options);
         }});
  }
}

std::vector<Subject> all_subjects() {
  std::vector<Subject> subjects;
  add(subjects, "spmm", "f32 n=256", 0.9, Spmm{.n = 256});
  add(subjects, "spmm", "f16 n=256", 0.9, Spmm{.n = 256, .element = Dtype::f16});
  add(subjects, "spmm", "f32 n=1", 0.9, Spmm{.n = 1});
  add(subjects, "sddmm", "f32 n=256", 0.9, Sddmm{.n = 256});
  add(subjects, "sddmm", "f16 n=256", 0.9, Sddmm{.n = 256, .element = Dtype::f16});
  add(subjects, "softmax", "f32", 0.9, Softmax{});
  return subjects;
}

constexpr std::int64_t rows = 2048, cols = 512;

template <class Work>
double time_us(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

Options context_options(const PlanBenchOptions& options) {
  Options context{.device = options.device,
                  .cache = {.folder = options.cache, .shipped = options.cache / "none"},
                  .compile_threads = 1};
  if (!options.helpers.empty()) context.cache.read_only.push_back(options.helpers);
  if (!options.may_compile) {
    context.compile = CompilePolicy::never;
    context.nvrtc = "/there/is/no/libnvrtc.so";  // what opened it would fail
  }
  return context;
}

const Subject& subject_named(const std::vector<Subject>& subjects, const std::string& name) {
  const auto found =
      std::find_if(subjects.begin(), subjects.end(), [&](const Subject& subject) { return subject.name == name; });
  if (found == subjects.end()) fail(ErrorCode::invalid_argument, "cannot plan \"{}\": there is no such subject", name);
  return *found;
}

/// As tuning stores it, so that the next process finds it decided.
void store_choice(const AnyPlan& plan) {
  const PlanState& state = *plan.state();
  for (const plan::Choice& choice : state.choices)
    state.session->tuning().set_winner(
        plan::problem_key(*choice.query), state.session->device_key(),
        {.family = std::string(choice.decision->family->name()), .config = choice.decision->config.to_map()});
}

/// A child's work: one plan, and what it took as a line of JSON on stdout.
void plan_once(const PlanBenchOptions& options) {
  const std::vector<Subject> subjects = all_subjects();
  const Subject& subject = subject_named(subjects, options.once);
  const sparse::Csr matrix = sparse::uniform(rows, cols, subject.sparsity, seed);
  Json line;
  try {
    std::unique_ptr<const Context> opened;
    line["context_us"] = time_us([&] { opened = std::make_unique<const Context>(context_options(options)); });
    const Context& context = *opened;
    Topology topology;
    line["topology_us"] = time_us([&] { topology = context.topology(matrix.view()); });
    const std::int64_t compiled_before = context.counters().kernels_compiled;
    std::unique_ptr<const AnyPlan> plan;
    line["plan_us"] = time_us(
        [&] { plan = std::make_unique<const AnyPlan>(subject.plan(context, topology, {.family = subject.family})); });
    line["family"] = plan->family();
    line["compiled"] = context.counters().kernels_compiled - compiled_before;
    line["compiler_us"] = context.counters().compile_us;
    if (options.keep_choice) store_choice(*plan);
  } catch (const Error& error) {
    line = {{"failure", error.what()}, {"declined", error.code() == ErrorCode::unsupported}};
  }
  std::fputs((line.dump() + "\n").c_str(), stdout);
}

std::string quoted(const std::string& word) { return "'" + word + "'"; }

/// Runs plan_once in a process of its own.
Json in_child(const PlanBenchOptions& options, const Subject& subject, const std::filesystem::path& cache,
              const std::string& more) {
  const std::string command = fmt::format("/proc/{}/exe --once {} --device {} --cache {} {}", getpid(),
                                          quoted(subject.name), quoted(options.device), quoted(cache.string()), more);
  const std::unique_ptr<FILE, int (*)(FILE*)> child(popen(command.c_str(), "r"), pclose);
  if (!child) fail(ErrorCode::internal, "cannot run {}", command);
  std::string text;
  std::array<char, 4096> part{};
  for (std::size_t bytes = 0; (bytes = std::fread(part.data(), 1, part.size(), child.get())) > 0;)
    text.append(part.data(), bytes);
  const Json line = Json::parse(text, nullptr, false);
  if (line.is_discarded()) fail(ErrorCode::internal, "cannot read what {} said: {}", command, text);
  return line;
}

/// Samples of one kind of plan, and its goal.
struct Measured {
  std::vector<double> us = {};
  double goal_us = 0;

  Json json() const {
    const tune::Summary summary = tune::summarise(us);
    return {{"median_us", number(summary.median_us)},
            {"spread_us", number(summary.spread_us)},
            {"samples", us.size()},
            {"goal_us", number(goal_us)},
            {"reached", summary.median_us <= goal_us}};
  }
  std::string text() const {
    const tune::Summary summary = tune::summarise(us);
    return fmt::format("{:.1f} +- {:.1f} us ({} {:.0f})", summary.median_us, summary.spread_us,
                       summary.median_us <= goal_us ? "reaches" : "misses", goal_us);
  }
};

class PlanBench {
 public:
  explicit PlanBench(const PlanBenchOptions& options)
      : options_(options), context_(warm_context()), record_("plan", options, context_) {}

  void run() {
    const std::vector<Subject> subjects = chosen_subjects();
    print_device(context_.device());
    std::fputs(
        "\n| problem | family | kernels | first plan | with helpers stored | from a cold process's files | without a "
        "stored choice | decided before "
        "|\n"
        "| --- | --- | ---: | --- | --- | --- | --- | --- |\n",
        stdout);
    std::size_t done = 0;
    for (const Subject& subject : subjects) {
      measure(subject);
      record_.write(++done == subjects.size());
    }
  }

 private:
  std::vector<Subject> chosen_subjects() const {
    std::vector<Subject> subjects = all_subjects();
    std::erase_if(subjects,
                  [&](const Subject& subject) { return subject.name.find(options_.filter) == std::string::npos; });
    if (subjects.empty())
      fail(ErrorCode::invalid_argument, "cannot measure: no problem's name holds \"{}\"", options_.filter);
    return subjects;
  }

  Context warm_context() {
    options_.cache = folder_.path() / "warm";
    options_.may_compile = true;
    return Context(context_options(options_));
  }

  void measure(const Subject& subject) {
    Measured first, first_helped, cold{.goal_us = cold_goal_us}, cold_decided{.goal_us = cold_goal_us},
        decided{.goal_us = decided_goal_us};
    Json last;
    const std::filesystem::path cache = folder_ / "cold";
    const auto sample = [&](Measured& into, const std::string& more) {
      Json line = in_child(options_, subject, cache, more);
      if (line.contains("failure")) {
        refuse(subject, line);
        return false;
      }
      into.us.push_back(line["plan_us"]);
      last = std::move(line);
      return true;
    };
    const auto sample_first = [&](Measured& into, const std::string& more) {
      for (int i = 0; i < options_.processes; ++i) {
        std::filesystem::remove_all(cache);
        if (!sample(into, "--may-compile" + more)) return false;
      }
      return true;
    };
    int own_kernels = 0;
    if (!options_.helpers.empty()) {
      if (!sample_first(first_helped, " --helpers " + quoted(std::filesystem::absolute(options_.helpers).string())))
        return;
      own_kernels = last["compiled"];
    }
    if (!sample_first(first, "")) return;
    const int kernels = last["compiled"];
    const double compiler_us = last["compiler_us"];
    first.goal_us = first_helped.goal_us = kernels == 1 ? one_kernel_goal_us : any_goal_us;
    for (int i = options_.cold_processes; i-- > 0;)
      if (!sample(cold, i == 0 ? "--keep-choice" : "")) return;  // the last leaves the choice behind
    for (int i = options_.cold_processes; i-- > 0;)
      if (!sample(cold_decided, "")) return;
    const sparse::Csr matrix = sparse::uniform(rows, cols, subject.sparsity, seed);
    const Topology topology = context_.topology(matrix.view());
    const AnyPlan kept = subject.plan(context_, topology, {.family = subject.family});
    for (int i = 0; i < options_.repeats; ++i)
      decided.us.push_back(time_us([&] { subject.plan(context_, topology, {.family = subject.family}); }));

    record_.add_row({{"problem", subject.name},
                     {"m", rows},
                     {"k", cols},
                     {"sparsity", subject.sparsity},
                     {"family", last["family"]},
                     {"kernels", kernels},
                     {"compiler_us", number(compiler_us)},
                     {"first_plan", first.json()},
                     {"kernels_with_helpers", first_helped.us.empty() ? Json() : Json(own_kernels)},
                     {"first_plan_with_helpers", first_helped.us.empty() ? Json() : first_helped.json()},
                     {"cold_process", cold.json()},
                     {"cold_decided", cold_decided.json()},
                     {"decided", decided.json()}});
    const std::string helped =
        first_helped.us.empty() ? "-" : fmt::format("{}, {} compiled", first_helped.text(), own_kernels);
    std::fputs(
        fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", subject.name, last["family"].get<std::string>(),
                    kernels, first.text(), helped, cold_decided.text(), cold.text(), decided.text())
            .c_str(),
        stdout);
    std::fflush(stdout);
  }

  void refuse(const Subject& subject, const Json& line) {
    if (line.value("declined", false)) return;  // another family's problem
    record_.add_row({{"problem", subject.name}, {"failure", line["failure"]}});
    std::fputs(fmt::format("| {} | {} | | | | | | |\n", subject.name, line["failure"].get<std::string>()).c_str(),
               stdout);
    std::fflush(stdout);
  }

  TemporaryFolder folder_;
  PlanBenchOptions options_;
  Context context_;
  RunRecord record_;
};

}  // namespace
}  // namespace vostok::bench

int main(int argc, char** argv) {
  using namespace vostok::bench;
  PlanBenchOptions options;
  CLI::App app(
      "What a plan costs the host, for each family: with no cache, from a cold process's files, and when it was "
      "decided before.",
      "bench_plan");
  add_options(app, options);
  app.get_option("--device")
      ->description(
          "auto, cuda:I, emulator, or compile:NAME: a GPU that is not here, e.g. compile:sm_90; its driver's part is "
          "left out");
  app.get_option("--out")->description(
      "JSON file to write, after every row anew; \"complete\" in it is false until the last");
  app.add_option("--filter", options.filter, "Only problems whose name holds this text, e.g. 'spmm f32 n=256'");
  app.add_option("--repeats", options.repeats, "Plans that were decided before")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--processes", options.processes, "Processes for each first plan")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--cold-processes", options.cold_processes, "Processes for each plan from files")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--helpers", options.helpers,
                 "A code.db of `vostok pack --helpers`: first plans are measured with it, too")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  // Of child processes, which have nothing but the caches that they are given.
  app.add_option("--once", options.once)->group("");
  app.add_flag("--may-compile", options.may_compile)->group("");
  app.add_flag("--keep-choice", options.keep_choice)->group("");
  app.get_option("--cache")->group("");
  return run_program(app, argc, argv, options, [&] {
    if (!options.once.empty()) {
      plan_once(options);
      return 0;
    }
    if (!options.cache.empty())
      vostok::fail(vostok::ErrorCode::invalid_argument, "cannot take --cache: the caches are this benchmark's own");
    PlanBench(options).run();
    return 0;
  });
}
