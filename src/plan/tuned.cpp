// The planner's quick and full efforts: race candidates, store the evidence, return the winner.
#include <utility>

#include "base/text.hpp"
#include "base/version.hpp"
#include "plan/features.hpp"
#include "plan/planner.hpp"
#include "plan/race_subject.hpp"
#include "plan/trial_writer.hpp"
#include "plan/vetting.hpp"
#include "tune/choice.hpp"

namespace vostok::plan {

namespace {

std::string at_clocks(const tune::Outcome& outcome) {
  if (!outcome.clocks_before || !outcome.clocks_after) return {};
  return fmt::format(", at {} to {} MHz", outcome.clocks_before->sm_mhz, outcome.clocks_after->sm_mhz);
}

std::string without_worker(const Vetting& vetting) {
  if (vetting.no_worker().empty()) return {};
  return fmt::format("; code that never passed verification was not tried, for there is no worker: {}",
                     vetting.no_worker());
}

}  // namespace

Decision Planner::tuned(const Task& task, const PlanOptions& options) const {
  const ops::Query& query = *task.query;
  const ProblemKey key = problem_key(query);
  const DeviceKey device_key = session_->device_key();
  // Every candidate would seem to fault there, and its code would be banned wherever the trials go.
  if (session_->device().only_compiles()) return heuristic(task, "not tuned: the context was opened to compile only");
  const std::vector<tune::Candidate> candidates = contenders(query, options.effort);

  const std::int64_t workspace_bytes = largest_workspace(query, candidates);
  std::unique_ptr<RaceSubject> racing;
  try {
    racing = std::make_unique<RaceSubject>(*session_, task, workspace_bytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    return heuristic(task, fmt::format("not tuned: {}", error.what()));
  }
  Vetting vetting(*session_, task, workspace_bytes, options.seed);
  auto writer = std::make_unique<TrialWriter>(session_->tuning(), key, device_key);
  const tune::Settings settings{
      .budget_seconds = options.budget_seconds,
      .seed = options.seed,
      .compile_threads = session_->compile_threads(),
      .progress = options.progress,
      .publish =
          [&](const tune::Candidate& candidate, const tune::Result& result) {
            if (result.status == "measured") ++session_->counters().trials_measured;
            writer->add(to_record(candidate, result));
          },
      .earlier = [&](const tune::Candidate& candidate,
                     const tune::Compiled& compiled) { return vetting.earlier(candidate, compiled); },
      .admit = [&](const tune::Candidate& candidate, const tune::Compiled& compiled, double seconds,
                   double slow_us) { return vetting.admit(candidate, compiled, seconds, slow_us); },
      .stop = options.stop};
  const tune::Outcome outcome = tune::race(session_->device(), *racing, candidates, settings);
  writer.reset();
  if (!outcome.winner)
    return heuristic(task, fmt::format("not tuned: no candidate could be measured{}", without_worker(vetting)));

  const tune::Candidate& candidate = candidates[*outcome.winner];
  const tune::Result& result = outcome.results[*outcome.winner];
  const double median_us = result.median_us.value_or(0);  // a winner was measured
  const auto is_default = [&](const tune::Result& raced) { return candidates[raced.candidate].is_default; };
  const std::optional<double> standard_us =
      tune::fastest_default(outcome.results, is_default, &tune::Result::median_us);
  session_->tuning().set_winner(key, device_key,
                                {.family = candidate.family,
                                 .config = candidate.config.to_map(),
                                 .code_digest = result.compiled.code_digest,
                                 .median_us = median_us,
                                 .default_median_us = standard_us,
                                 .rounds = result.rounds,
                                 .effort = options.effort,
                                 .library_version = library_version});
  Decision decision{
      .family = ops::find_family(query.operation, candidate.family),
      .config = candidate.config,
      .provenance = Provenance::tuned_here,
      .note = fmt::format("best of {} candidates{}{}", candidates.size(), at_clocks(outcome), without_worker(vetting)),
      .median_us = median_us};
  if (standard_us) decision.speedup_over_default = *standard_us / median_us;
  return with_kernels(task, std::move(decision));
}

}  // namespace vostok::plan
