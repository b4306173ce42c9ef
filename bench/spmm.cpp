// SpMM over a list of matrices: ours, planned with full effort, beside cuSPARSE and cuBLAS in one process, and against
// times that others reached elsewhere.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <map>

#include "base/text.hpp"
#include "bench/harness/baselines.hpp"
#include "bench/harness/comparisons.hpp"
#include "bench/harness/current_context.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/progress.hpp"
#include "bench/harness/run_record.hpp"
#include "bench/harness/side_by_side.hpp"
#include "bench/peers/peer.hpp"
#include "context_state.hpp"
#include "plan/plan_state.hpp"
#include "sparse/read.hpp"
#include "tune/spmm_case.hpp"

namespace vostok::bench {
namespace {

struct SpmmOptions : ListOptions {
  std::filesystem::path baselines = {};
  bool no_peers = false;
};

/// One implementation of the product: what it did to the output, and how long it takes.
struct Measured {
  std::string peer = {};  ///< empty: ours
  std::string variant = {};
  tune::Check check = {};
  Timed timed = {};

  bool counts() const { return timed.timing.has_value() && check.wrong.empty(); }
};

/// A problem, planned and with operands.
struct Loaded {
  Loaded(const Context& context, const SpmmOptions& options, const Problem& listed)
      : problem(listed), matrix(sparse::read(options.data / listed.file)), topology(context.topology(matrix.view())) {
    const std::int64_t compiled_before = context.counters().kernels_compiled;
    const auto start = std::chrono::steady_clock::now();
    plan = context.plan(Spmm{.n = listed.n}, topology, {.effort = options.effort, .budget_seconds = options.budget_seconds, .seed = options.seed});
    plan_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    compiled = context.counters().kernels_compiled - compiled_before;
  }

  Problem problem;
  sparse::Csr matrix;
  Topology topology;
  SpmmPlan plan;
  double plan_ms = 0;
  std::int64_t compiled = 0;
};

Json measured_json(const Measured& measured) {
  Json json = timed_json(measured.timed);
  json["error"] = measured.timed.failure.empty() ? number(measured.check.error) : Json(nullptr);
  json["verified"] = measured.counts();
  json["wrong"] = text_or_null(measured.check.wrong);
  return json;
}

Json baseline_json(const std::optional<Baseline>& baseline) {
  if (!baseline) return nullptr;
  return {{"sputnik_us", number(baseline->sputnik_us)},
          {"cusparse_us", number(baseline->cusparse_us)},
          {"cublas_sgemm_us", number(baseline->cublas_sgemm_us)}};
}

/// What that peer took where the baselines were measured.
std::optional<double> baseline_of(const Baseline& baseline, const std::string& peer) {
  if (peer == "cusparse") return baseline.cusparse_us;
  if (peer == "cublas_sgemm") return baseline.cublas_sgemm_us;
  return std::nullopt;
}

/// The fastest way of a peer whose output was right.
const Measured* best_of(const std::vector<Measured>& all, const std::string& peer) {
  const Measured* best = nullptr;
  for (const Measured& measured : all)
    if (measured.peer == peer && measured.counts() && (best == nullptr || measured.timed.timing->median_us < best->timed.timing->median_us))
      best = &measured;
  return best;
}

class SpmmBench {
 public:
  explicit SpmmBench(const SpmmOptions& options)
      : options_(options),
        problems_(read_problems(options)),
        baselines_(options.baselines.empty() ? Baselines() : Baselines::read(options.baselines)),
        context_(open_context(options)),
        current_(options.device, context_.device().gpu),
        device_(context_.state()->session->device()),
        record_("spmm", options, context_) {
    if (!options.no_peers) peers_ = find_peers(device_);
    print_device(context_.device());
    note_peers();
  }

  /// The number of problems that failed, were wrong or were not reached.
  std::size_t run() {
    print_header();
    Progress progress(problems_.size(), options_.deadline_seconds);
    std::size_t done = 0;
    for (const Problem& problem : problems_) {
      if (progress.out_of_time()) break;
      progress.start(label(problem));
      run_guarded(problem);
      record_.set("summary", summary_.to_json());
      record_.set("drift", drift_json());
      record_.write(++done == problems_.size());
    }
    std::fputs(summary_.table().c_str(), stdout);
    print_drift();
    if (done < problems_.size())
      std::fputs(fmt::format("\n{} problems were not reached before the deadline\n", problems_.size() - done).c_str(), stdout);
    if (failures_ > 0) std::fputs(fmt::format("\n{} problems failed or were wrong\n", failures_).c_str(), stdout);
    return failures_ + problems_.size() - done;
  }

 private:
  void note_peers() {
    Json list = Json::array();
    for (const PeerFinding& finding : peers_) {
      list.push_back(finding.peer ? Json{{"name", finding.name}, {"version", finding.peer->version()}}
                                  : Json{{"name", finding.name}, {"absent", finding.absent}});
      const std::string state = finding.peer ? finding.peer->version() : "absent: " + finding.absent;
      std::fputs(fmt::format("{} {}\n", finding.name, state).c_str(), stdout);
    }
    record_.set("peers", std::move(list));
  }

  void run_guarded(const Problem& problem) {
    try {
      run_one(problem);
    } catch (const std::exception& error) {
      ++failures_;
      record_.add_row({{"file", problem.file}, {"n", problem.n}, {"failure", error.what()}});
      std::fputs(fmt::format("{:>7} {}: {}\n", problem.n, problem.file, error.what()).c_str(), stdout);
    }
  }

  void run_one(const Problem& listed) {
    const Loaded loaded(context_, options_, listed);
    tune::SpmmCase operands(device_, loaded.plan.problem(), loaded.matrix, options_.seed);
    const std::vector<Measured> all = measure(loaded, operands);
    if (!all.front().counts()) ++failures_;
    const auto baseline = baselines_.find(listed.file, loaded.matrix.rows, loaded.matrix.cols, listed.n);
    compare_all(loaded, all, baseline);
    add_row(loaded, operands, all, baseline);
    print_row(loaded, all, baseline);
  }

  /// Ours first, then every way of every peer. Operands, memory and streams are the same for all.
  std::vector<Measured> measure(const Loaded& loaded, tune::SpmmCase& operands) {
    const Workspace workspace = loaded.plan.make_workspace();
    SpmmArguments arguments = operands.call();
    arguments.workspace = workspace;
    std::vector<PeerRun> runs = {{.variant = "row_tile", .enqueue = [&](Stream stream) { loaded.plan.execute(stream, arguments); }}};
    runs.front().variant = loaded.plan.family();
    for (const PeerFinding& finding : peers_) {
      if (!finding.peer) continue;
      for (PeerRun& run : finding.peer->prepare(peer_operands(loaded, arguments))) runs.push_back(std::move(run));
    }

    std::vector<Measured> all;
    std::vector<Contender> contenders;
    std::vector<std::size_t> timed;  // positions in `all`
    for (const PeerRun& run : runs) {
      all.push_back(verify(run, operands));
      if (!all.back().timed.failure.empty()) continue;
      timed.push_back(all.size() - 1);
      contenders.push_back({.name = run.peer, .enqueue = run.enqueue});
    }
    const std::vector<Timed> timings = time_side_by_side(device_, contenders, options_.rounds);
    for (std::size_t i = 0; i < timed.size(); ++i) all[timed[i]].timed = timings[i];
    return all;
  }

  static Measured verify(const PeerRun& run, tune::SpmmCase& operands) {
    Measured measured{.peer = run.peer, .variant = run.variant, .check = {}, .timed = {.timing = {}, .failure = run.failure}};
    if (!run.failure.empty()) return measured;
    try {
      measured.check = operands.verify(run.enqueue);
    } catch (const std::exception& error) {
      measured.timed.failure = error.what();
    }
    return measured;
  }

  static PeerOperands peer_operands(const Loaded& loaded, const SpmmArguments& arguments) {
    const ops::TopologyPointers pointers = loaded.topology.state()->pointers({});
    return {.matrix = &loaded.matrix,
            .n = loaded.problem.n,
            .row_offsets = static_cast<const std::int32_t*>(pointers.row_offsets),
            .column_indices = static_cast<const std::int32_t*>(pointers.column_indices),
            .values = static_cast<const float*>(arguments.values),
            .dense = static_cast<const float*>(arguments.dense),
            .output = static_cast<float*>(arguments.output)};
  }

  void compare_all(const Loaded& loaded, const std::vector<Measured>& all, const std::optional<Baseline>& baseline) {
    if (!all.front().counts()) return;
    const Timing& ours = *all.front().timed.timing;
    const auto add = [&](const std::string& other, double us, double spread_us) {
      summary_.add(other, group(loaded.problem),
                   {.label = label(loaded.problem),
                    .ours_us = ours.median_us,
                    .ours_spread_us = ours.spread_us,
                    .other_us = us,
                    .other_spread_us = spread_us});
    };
    for (const PeerFinding& finding : peers_) {
      const Measured* best = best_of(all, finding.name);
      if (best == nullptr) continue;
      const Timing& timing = *best->timed.timing;
      add(finding.name, timing.median_us, timing.spread_us);
      const std::optional<double> elsewhere_us = baseline ? baseline_of(*baseline, finding.name) : std::nullopt;
      if (elsewhere_us) drift_[finding.name].push_back(timing.median_us / *elsewhere_us);
    }
    if (!baseline) return;
    if (baseline->sputnik_us) add("sputnik (baseline)", *baseline->sputnik_us, 0);
    if (baseline->cusparse_us) add("cusparse (baseline)", *baseline->cusparse_us, 0);
    if (baseline->cublas_sgemm_us) add("cublas_sgemm (baseline)", *baseline->cublas_sgemm_us, 0);
  }

  void add_row(const Loaded& loaded, const tune::SpmmCase& operands, const std::vector<Measured>& all, const std::optional<Baseline>& baseline) {
    const TopologyStatistics& statistics = loaded.topology.statistics();
    const Explanation explanation = loaded.plan.explain();
    Json ours = measured_json(all.front());
    ours["family"] = explanation.family;
    ours["config"] = explanation.config;
    ours["provenance"] = name(explanation.provenance);
    ours["note"] = explanation.note;
    ours["speedup_over_default"] = number(explanation.speedup_over_default);
    ours["gflops"] = all.front().counts() ? number(operands.flops() / all.front().timed.timing->median_us / 1000) : Json(nullptr);
    ours["plan_ms"] = number(loaded.plan_ms);
    ours["kernels_compiled"] = loaded.compiled;
    for (const plan::Choice& choice : loaded.plan.state()->choices)
      for (const ops::Launch& launch : choice.launches) record_.note_template(launch.request().header);

    Json peers = Json::array();
    for (std::size_t i = 1; i < all.size(); ++i) {
      Json peer = {{"name", all[i].peer}, {"variant", all[i].variant}};
      peer.update(measured_json(all[i]));
      peers.push_back(std::move(peer));
    }
    record_.add_row({{"file", loaded.problem.file},
                     {"n", loaded.problem.n},
                     {"m", statistics.rows},
                     {"k", statistics.cols},
                     {"nonzeros", statistics.nonzeros},
                     {"sparsity", number(statistics.sparsity())},
                     {"row_variation", number(statistics.row_variation)},
                     {"longest_row", statistics.longest_row},
                     {"tolerance", number(all.front().check.tolerance)},
                     {"clocks", clocks_json(device_.clocks())},
                     {"ours", std::move(ours)},
                     {"peers", std::move(peers)},
                     {"baseline", baseline_json(baseline)}});
  }

  /// How far this machine's peers are from the baselines': near 1, the baselines compare with what is measured here.
  Json drift_json() const {
    Json json = Json::object();
    for (const auto& [peer, ratios] : drift_) json[peer] = {{"problems", ratios.size()}, {"here_over_baseline", number(geometric_mean(ratios))}};
    return json;
  }

  void print_drift() const {
    for (const auto& [peer, ratios] : drift_)
      std::fputs(
          fmt::format("\n{} takes {:.3f}x of its baseline here (geomean of {} problems)\n", peer, geometric_mean(ratios), ratios.size()).c_str(),
          stdout);
  }

  void print_header() const {
    std::string line = fmt::format("\n{:>7} {:>11} {:>7} {:>19} {:>9}", "n", "m x k", "sparse", "ours us", "error");
    for (const PeerFinding& finding : peers_) line += fmt::format(" {:>20}", finding.name);
    if (!options_.baselines.empty()) line += fmt::format(" {:>20}", "sputnik (baseline)");
    std::fputs((line + "  matrix\n").c_str(), stdout);
  }

  void print_row(const Loaded& loaded, const std::vector<Measured>& all, const std::optional<Baseline>& baseline) const {
    const TopologyStatistics& statistics = loaded.topology.statistics();
    const Measured& ours = all.front();
    std::string line =
        fmt::format("{:>7} {:>11} {:>6.1f}% ", loaded.problem.n, fmt::format("{}x{}", statistics.rows, statistics.cols), 100 * statistics.sparsity());
    if (!ours.timed.timing) {
      std::fputs(fmt::format("{}not timed: {}  {}\n", line, ours.timed.failure, loaded.problem.file).c_str(), stdout);
      return;
    }
    const double ours_us = ours.timed.timing->median_us;
    line += fmt::format("{:>11.2f} +- {:<4.2f} {:>9.1e}", ours_us, ours.timed.timing->spread_us, ours.check.error);
    const auto cell = [&](std::optional<double> us) {
      return us ? fmt::format(" {:>11.2f} ({:>5.2f}x)", *us, *us / ours_us) : fmt::format(" {:>20}", "-");
    };
    for (const PeerFinding& finding : peers_) {
      const Measured* best = best_of(all, finding.name);
      line += cell(best == nullptr ? std::nullopt : std::optional(best->timed.timing->median_us));
    }
    if (!options_.baselines.empty()) line += cell(baseline ? baseline->sputnik_us : std::nullopt);
    line += fmt::format("  {}{}\n", loaded.problem.file, ours.check.wrong.empty() ? "" : "  WRONG: " + ours.check.wrong);
    std::fputs(line.c_str(), stdout);
    std::fflush(stdout);
  }

  SpmmOptions options_;
  std::vector<Problem> problems_;
  Baselines baselines_;
  Context context_;
  CurrentContext current_;
  device::Device& device_;
  RunRecord record_;
  std::vector<PeerFinding> peers_;
  Comparisons summary_;
  std::map<std::string, std::vector<double>> drift_;  ///< by peer: here over baseline
  std::size_t failures_ = 0;
};

}  // namespace
}  // namespace vostok::bench

int main(int argc, char** argv) {
  using namespace vostok::bench;
  SpmmOptions options;
  CLI::App app("SpMM over a list of matrices, beside cuSPARSE and cuBLAS. The exit status is 0 when every problem was verified.", "bench_spmm");
  add_options(app, options);
  app.add_option("--baselines", options.baselines, "CSV of times reached elsewhere, e.g. ../shared/baselines/spmm_dlmc_h200.csv");
  app.add_flag("--no-peers", options.no_peers, "Leave cuSPARSE and cuBLAS out");
  return run_program(app, argc, argv, options, [&] { return SpmmBench(options).run() == 0 ? 0 : 1; });
}
