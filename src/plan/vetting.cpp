#include "plan/vetting.hpp"

#include <algorithm>
#include <limits>

#include "base/text.hpp"
#include "base/unix_time.hpp"
#include "plan/features.hpp"

namespace vostok::plan {

std::int64_t largest_workspace(const ops::Query& query, const std::vector<tune::Candidate>& candidates) {
  std::int64_t bytes = 0;
  for (const tune::Candidate& candidate : candidates)
    bytes =
        std::max(bytes, ops::find_family(query.operation, candidate.family)->workspace_bytes(query, candidate.config));
  return bytes;
}

Vetting::Vetting(Session& session, const Task& task, std::int64_t workspace_bytes, std::uint64_t seed)
    : session_(session),
      trials_(session.tuning().trials(problem_key(*task.query), session.device_key())),
      worker_(session, task, workspace_bytes, seed) {}

const TrialRecord* Vetting::trial_of(const tune::Candidate& candidate, const std::string& code_digest) const {
  const auto same = [&](const TrialRecord& trial) {
    return trial.code_digest == code_digest && trial.family == candidate.family &&
           trial.config == candidate.config.to_map();
  };
  const auto position = std::find_if(trials_.begin(), trials_.end(), same);
  return position == trials_.end() ? nullptr : &*position;
}

std::optional<tune::Earlier> Vetting::earlier(const tune::Candidate& candidate, const tune::Compiled& compiled) const {
  const TrialRecord* const trial = trial_of(candidate, compiled.code_digest);
  if (trial == nullptr || trial->status != "measured" || !trial->median_us) return std::nullopt;
  // Code that was banned since then is not trusted.
  if (!session_.tuning().standing(compiled.code_digest).failure.empty()) return std::nullopt;
  return tune::Earlier{.median_us = *trial->median_us,
                       .spread_us = trial->spread_us.value_or(0),
                       .rounds = trial->rounds,
                       .verified = trial->reason != not_verified};
}

tune::Admission Vetting::admit(const tune::Candidate& candidate, const tune::Compiled& compiled, double seconds,
                               double slow_us) {
  const TrialRecord* const trial = trial_of(candidate, compiled.code_digest);
  if (trial != nullptr && is_failure(trial->status, trial->reason))
    return {.status = trial->status, .reason = trial->reason};
  const CodeStanding standing = session_.tuning().standing(compiled.code_digest);
  if (!standing.failure.empty())
    return {.status = "banned", .reason = fmt::format("{} before: {}", standing.failure, standing.reason)};
  if (standing.passed || !must_pass_first()) return {};
  if (seconds <= 0 && !candidate.must_run()) return {.status = "not_reached"};
  // The emulator's times are meaningless.
  if (!session_.device().info().gpu) slow_us = std::numeric_limits<double>::infinity();
  return worker_.ask(candidate, compiled.code_digest, seconds, slow_us);
}

TrialRecord to_record(const tune::Candidate& candidate, const tune::Result& result) {
  const bool measured = result.status == "measured";
  return {.family = candidate.family,
          .config = candidate.config.to_map(),
          .code_digest = result.compiled.code_digest,
          .is_default = candidate.is_default,
          .status = result.status,
          .reason = measured && !result.verified ? not_verified : result.reason,
          .median_us = result.median_us,
          .spread_us = result.spread_us,
          .rounds = result.rounds,
          .registers = result.compiled.registers,
          .spill_bytes = result.compiled.spill_bytes,
          .shared_bytes = result.compiled.shared_bytes,
          .measured_at = unix_seconds()};
}

}  // namespace vostok::plan
