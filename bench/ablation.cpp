// What each technique of a family is worth, Table II of "Sparse GPU Kernels for Deep Learning" (SC20): every problem's
// config with one technique switched off at a time, measured beside the whole.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <optional>
#include <span>

#include "base/text.hpp"
#include "bench/harness/comparison.hpp"
#include "bench/harness/json.hpp"
#include "bench/harness/matrices.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/progress.hpp"
#include "bench/harness/run_record.hpp"
#include "bench/harness/side_by_side.hpp"
#include "bench/harness/spmm_sets.hpp"
#include "bench/harness/techniques.hpp"
#include "cli/enum_option.hpp"
#include "context_state.hpp"
#include "plan/plan_state.hpp"
#include "plan/race_subject.hpp"
#include "plan/task_text.hpp"
#include "plan/vetting.hpp"
#include "tune/compile_ahead.hpp"

namespace vostok::bench {
namespace {

enum class Ablated : unsigned char { spmm, sddmm };

constexpr const char* name(Ablated value) {
  switch (value) {
    case Ablated::spmm: return "spmm";
    case Ablated::sddmm: return "sddmm";
  }
  return nullptr;
}

struct AblationOptions : ListOptions {
  Ablated operation = Ablated::spmm;
  std::string set = {};  ///< of spmm_sets; empty: the problem list
  Dtype element = Dtype::f32;
  bool transposed = false;
  Layout dense_layout = Layout::row_major;
  bool certificates = false;
  bool every_sum = false;
  ValueLifetime value_lifetime = ValueLifetime::per_call;
};

TechniquesOf techniques_of(const AblationOptions& options) {
  if (options.certificates) return certified_sums(name(options.operation));
  return options.operation == Ablated::spmm ? row_tile_techniques() : row_strips_techniques();
}

constexpr const char* everything = "all";

/// One technique over the problems.
struct Effect {
  std::map<std::string, std::vector<double>> slowdowns = {};  ///< by group, and under "all": without over with
  std::string worst_problem = {};
  double worst = 0;
  std::size_t unused = 0;                           ///< the config does not use it
  std::map<std::string, std::size_t> skipped = {};  ///< reason: count

  void add(const Problem& problem, double slowdown) {
    slowdowns[everything].push_back(slowdown);
    if (group(problem) != everything) slowdowns[group(problem)].push_back(slowdown);
    if (slowdown <= worst) return;
    worst = slowdown;
    worst_problem = label(problem);
  }
  std::size_t used() const { return slowdowns.contains(everything) ? slowdowns.at(everything).size() : 0; }
};

/// A config to measure: the whole (no technique), or without one.
struct Variation {
  const Technique* technique = nullptr;
  tune::Candidate candidate = {};
  tune::Compiled compiled = {};
  std::string skipped = {};
};

class Ablation {
 public:
  explicit Ablation(const AblationOptions& options)
      : options_(options),
        problems_(options.set.empty() ? read_problems(options)
                                      : select(find_spmm_set(options.set).problems, options.selection, options.set)),
        context_(open_context(options)),
        matrices_(context_, options.data, options.seed),
        session_(context_.state()->session),
        record_("ablation", options, context_),
        of_(techniques_of(options)),
        effects_(of_.techniques.size()) {
    record_.set("problem", {{"operation", of_.operation},
                            {"family", of_.family},
                            {"element", name(options.element)},
                            {"sparse_transposed", options.transposed},
                            {"dense_layout", name(options.dense_layout)},
                            {"value_lifetime", name(options.value_lifetime)}});
    print_device(context_.device());
  }

  /// The number of problems that failed or were not reached.
  std::size_t run() {
    Progress progress(problems_.size(), options_.deadline_seconds);
    std::size_t done = 0;
    for (const Problem& problem : problems_) {
      if (progress.out_of_time()) break;
      progress.start(label(problem));
      run_guarded(problem);
      record_.set("summary", summary());
      record_.write(++done == problems_.size());
    }
    std::fputs(table().c_str(), stdout);
    if (done < problems_.size())
      std::fputs(fmt::format("\n{} problems were not reached before the deadline\n", problems_.size() - done).c_str(),
                 stdout);
    return failures_ + problems_.size() - done;
  }

 private:
  void run_guarded(const Problem& problem) {
    try {
      run_one(problem);
    } catch (const std::exception& error) {
      ++failures_;
      record_.add_row({{"file", problem.file}, {"n", problem.n}, {"failure", error.what()}});
      std::fputs(fmt::format("{}: {}\n", label(problem), error.what()).c_str(), stdout);
    }
  }

  void run_one(const Problem& problem) {
    matrices_.take(problem);
    const AnyPlan plan = options_.operation == Ablated::spmm ? plan_spmm(problem) : plan_sddmm(problem);
    if (plan.state()->choices.empty()) {
      record_.add_nothing_to_compute(problem);
      return;
    }
    const plan::Choice& choice = *plan.state()->main_choice();
    for (const ops::Launch& launch : choice.launches) record_.note_template(launch.request().header);
    std::vector<Variation> variations = list_variations(*choice.query, plan);
    plan::TaskText text = plan::text_of(*choice.query);
    const plan::Task task = task_of(plan, text);
    plan::RaceSubject subject(*session_, task, plan::largest_workspace(*choice.query, admitted(variations)));
    // Certificates belong to the problem: without them it is another one.
    plan::Task task_without;
    std::optional<plan::RaceSubject> without;
    if (options_.certificates) {
      text.problem["nonfinite"] = name(NonFinite::dense);
      task_without = task_of(plan, text);
      if (runs_the_same(*choice.decision, *task.query, *task_without.query)) variations.back().skipped = unused;
      without.emplace(*session_, task_without, plan::largest_workspace(*task_without.query, admitted(variations)));
    }
    const std::span all(variations);
    prepare(subject, without ? all.first(1) : all);
    if (without) prepare(*without, all.subspan(1));
    const std::vector<Timed> timings = measure(variations);
    const auto& whole = timings.front().timing;
    if (!whole)
      fail(ErrorCode::device_failure, "cannot ablate: the whole config was not timed: {}{}", variations.front().skipped,
           timings.front().failure);
    Json row = row_of(problem, plan, whole->median_us, variations, timings);
    if (options_.every_sum) row["every_sum_made_again"] = time_every_sum(subject, variations.front().compiled);
    record_.add_row(std::move(row));
  }

  /// Of operands whose sums are hardly ever good as tensor cores leave them.
  Json time_every_sum(plan::RaceSubject& subject, const tune::Compiled& whole) const {
    Json timing = nullptr;
    subject.with_wide_operands([&] {
      const std::vector<Contender> alone = {{.name = "every sum", .enqueue = whole.renewed()}};
      timing = timed_json(time_side_by_side(session_->device(), alone, options_.rounds).front());
    });
    return timing;
  }

  plan::Task task_of(const AnyPlan& plan, const plan::TaskText& text) {
    return plan::rebuilt_task(*plan.state()->planner, text, matrices_.topology(), options_.seed);
  }

  /// Whether the plan's config is the same kernels for both.
  static bool runs_the_same(const plan::Decision& decision, const ops::Query& one, const ops::Query& other) {
    const auto expressions = [&](const ops::Query& query) {
      std::vector<std::string> list;
      for (const ops::Launch& launch : decision.family->launches(query, decision.config, {}))
        list.push_back(launch.request().expression);
      return list;
    };
    return expressions(one) == expressions(other);
  }

  PlanOptions plan_options() const {
    return {.effort = options_.effort,
            .budget_seconds = options_.budget_seconds,
            .seed = options_.seed,
            .family = of_.family};
  }

  AnyPlan plan_spmm(const Problem& problem) {
    const Spmm spmm{.n = problem.n,
                    .element = options_.element,
                    .sparse_transposed = options_.transposed,
                    .dense_layout = options_.dense_layout,
                    .value_lifetime = options_.value_lifetime};
    return context_.plan(spmm, matrices_.topology(), plan_options());
  }

  AnyPlan plan_sddmm(const Problem& problem) {
    return context_.plan(Sddmm{.n = problem.n, .element = options_.element}, matrices_.topology(), plan_options());
  }

  /// The whole first.
  std::vector<Variation> list_variations(const ops::Query& query, const AnyPlan& plan) const {
    const ops::Family* family = ops::find_family(of_.operation, plan.family());
    const FieldMap config = plan.config();
    std::vector<Variation> variations = {
        {.candidate = {.family = plan.family(), .config = family->read(config).value(), .is_default = true}}};
    for (const Technique& technique : of_.techniques) {
      // "Default" candidates are not screened: a config that spills without a technique is part of what it is worth.
      Variation variation{.technique = &technique,
                          .candidate = {.family = plan.family(), .config = {}, .is_default = true}};
      if (auto changed = technique.without(config)) {
        variation.candidate.config = family->read(*changed).value();
        if (auto reason = family->forbidden(query, variation.candidate.config))
          variation.skipped = "forbidden: " + *reason;
      } else {
        variation.skipped = unused;
      }
      variations.push_back(std::move(variation));
    }
    return variations;
  }

  static std::vector<tune::Candidate> admitted(const std::vector<Variation>& variations) {
    std::vector<tune::Candidate> candidates;
    for (const Variation& variation : variations)
      if (variation.skipped.empty()) candidates.push_back(variation.candidate);
    return candidates;
  }

  /// Compiles on all cores, then verifies.
  void prepare(plan::RaceSubject& subject, std::span<Variation> variations) const {
    std::vector<tune::Candidate> candidates;
    std::vector<std::size_t> order;
    for (const Variation& variation : variations) {
      if (variation.skipped.empty()) order.push_back(candidates.size());
      candidates.push_back(variation.candidate);
    }
    tune::CompileAhead compiles(subject, candidates, order, session_->compile_threads());
    while (auto result = compiles.next()) {
      Variation& variation = variations[result->candidate];
      if (!result->status.empty()) variation.skipped = fmt::format("{}: {}", result->status, result->reason);
      else variation.compiled = std::move(result->compiled);
    }
    for (Variation& variation : variations) {
      if (!variation.skipped.empty()) continue;
      if (auto wrong = subject.verify(variation.compiled)) variation.skipped = "wrong: " + *wrong;
    }
  }

  /// One timing a variation; those that are skipped have none.
  std::vector<Timed> measure(const std::vector<Variation>& variations) const {
    std::vector<Contender> contenders;
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < variations.size(); ++i) {
      if (!variations[i].skipped.empty()) continue;
      positions.push_back(i);
      contenders.push_back({.name = variations[i].technique == nullptr ? "whole" : variations[i].technique->name,
                            .enqueue = variations[i].compiled.enqueue});
    }
    std::vector<Timed> timings(variations.size());
    const std::vector<Timed> measured = time_side_by_side(session_->device(), contenders, options_.rounds);
    for (std::size_t i = 0; i < positions.size(); ++i) timings[positions[i]] = measured[i];
    return timings;
  }

  Json row_of(const Problem& problem, const AnyPlan& plan, double whole_us, const std::vector<Variation>& variations,
              const std::vector<Timed>& timings) {
    Json row = {{"file", problem.file},
                {"n", problem.n},
                {"row_variation", number(matrices_.topology().statistics().row_variation)},
                {"family", plan.family()},
                {"config", plan.config()},
                {"provenance", name(plan.provenance())},
                {"whole", timed_json(timings.front())},
                {"without", Json::array()}};
    for (std::size_t i = 1; i < variations.size(); ++i) {
      const Variation& variation = variations[i];
      Effect& effect = effects_[i - 1];
      Json entry = {{"technique", variation.technique->name}};
      if (const auto& timing = timings[i].timing) {
        const double slowdown = timing->median_us / whole_us;
        effect.add(problem, slowdown);
        entry["slowdown"] = number(slowdown);
        entry.update(timed_json(timings[i]));
      } else if (variation.skipped == unused) {
        ++effect.unused;
        entry["skipped"] = unused;
      } else {
        const std::string reason = variation.skipped.empty() ? "failed: " + timings[i].failure : variation.skipped;
        ++effect.skipped[reason];
        entry["skipped"] = reason;
      }
      row["without"].push_back(std::move(entry));
    }
    return row;
  }

  Json summary() const {
    Json list = Json::array();
    for (std::size_t i = 0; i < effects_.size(); ++i) {
      const Effect& effect = effects_[i];
      const Technique& technique = of_.techniques[i];
      Json entry = {{"technique", technique.name},
                    {"fields", technique.fields},
                    {"unused", effect.unused},
                    {"skipped", effect.skipped},
                    {"groups", Json::object()}};
      for (const auto& [group_name, slowdowns] : effect.slowdowns)
        entry["groups"][group_name] = {{"problems", slowdowns.size()},
                                       {"geomean_slowdown", number(geometric_mean(slowdowns))}};
      entry["worst"] = effect.used() == 0 ? Json(nullptr)
                                          : Json{{"problem", effect.worst_problem}, {"slowdown", number(effect.worst)}};
      list.push_back(std::move(entry));
    }
    return list;
  }

  /// Markdown. Slowdowns are over the problems whose config uses the technique.
  std::string table() const {
    std::map<std::string, int> groups;
    for (const Effect& effect : effects_)
      for (const auto& [group_name, slowdowns] : effect.slowdowns) ++groups[group_name];
    std::string text = "\n| without | used | unused | skipped |", rule = "| --- | ---: | ---: | ---: |";
    for (const auto& [group_name, count] : groups) text += fmt::format(" {} |", group_name), rule += " ---: |";
    text += fmt::format(" worst |\n{} --- |\n", rule);
    std::map<std::string, std::size_t> reasons;
    for (std::size_t i = 0; i < effects_.size(); ++i) {
      const Effect& effect = effects_[i];
      std::size_t skipped = 0;
      for (const auto& [reason, count] : effect.skipped)
        skipped += count, reasons[fmt::format("{}: {}", of_.techniques[i].name, reason)] += count;
      text += fmt::format("| {} | {} | {} | {} |", of_.techniques[i].name, effect.used(), effect.unused, skipped);
      for (const auto& [group_name, count] : groups)
        text += effect.slowdowns.contains(group_name)
                    ? fmt::format(" {:.3f}x |", geometric_mean(effect.slowdowns.at(group_name)))
                    : " - |";
      text += effect.used() == 0 ? " - |\n" : fmt::format(" {:.2f}x {} |\n", effect.worst, effect.worst_problem);
    }
    for (const auto& [reason, count] : reasons) text += fmt::format("\nskipped {} times: {}", count, reason);
    return text + "\n";
  }

  static constexpr const char* unused = "the config does not use it";

  AblationOptions options_;
  std::vector<Problem> problems_;
  Context context_;
  Matrices matrices_;
  std::shared_ptr<plan::Session> session_;
  RunRecord record_;
  TechniquesOf of_;
  std::vector<Effect> effects_;  ///< by technique
  std::size_t failures_ = 0;
};

}  // namespace
}  // namespace vostok::bench

int main(int argc, char** argv) {
  using namespace vostok::bench;
  AblationOptions options;
  CLI::App app(
      "Each technique of row_tile (SpMM) or row_strips (SDDMM) switched off, one at a time, beside the whole. With "
      "--effort heuristic the whole is the default config. With --certificates: what certified sums cost, of whatever "
      "family each plan chose.",
      "bench_ablation");
  add_options(app, options);
  vostok::cli::add_enum_option(app, "--operation", options.operation, "spmm, or sddmm, whose n is the inner size");
  app.add_option("--set", options.set, "Made problems, as of bench_spmm, e.g. row_variation, instead of the list");
  vostok::cli::add_enum_option(app, "--dtype", options.element, "Element type: f32, f16 or bf16");
  app.add_flag("--certificates", options.certificates,
               "In place of techniques: certified sums, beside sums that nothing vouches for");
  app.add_flag("--every-sum", options.every_sum,
               "Also time the whole where nearly every sum is made again: takes long for large outputs");
  vostok::cli::add_enum_option(app, "--value-lifetime", options.value_lifetime,
                               "per_call, or persistent: values of A are packed before; spmm only");
  app.add_flag("--transpose", options.transposed, "Compute A^T B; spmm only");
  vostok::cli::add_enum_option(app, "--dense-layout", options.dense_layout, "Of B, of spmm: row_major or column_major");
  return run_program(app, argc, argv, options, [&] {
    if (options.operation == Ablated::sddmm &&
        (options.transposed || options.dense_layout != vostok::Layout::row_major ||
         options.value_lifetime != vostok::ValueLifetime::per_call))
      vostok::fail(vostok::ErrorCode::invalid_argument,
                   "cannot ablate SDDMM with --transpose, --dense-layout or --value-lifetime: they are SpMM's");
    return Ablation(options).run() == 0 ? 0 : 1;
  });
}
