#include "plan/shipped_check.hpp"

#include <utility>

#include "base/text.hpp"
#include "base/version.hpp"
#include "plan/candidates.hpp"
#include "plan/features.hpp"
#include "plan/race_subject.hpp"
#include "plan/vetting.hpp"
#include "tune/duel.hpp"

namespace vostok::plan {

namespace {

constexpr double budget_us = 2000;
/// A difference below this is noise: the choice that was measured at length, elsewhere, stands.
constexpr double tie = 0.02;

tune::Candidate candidate_of(const Decision& decision) {
  return {.family = std::string(decision.family->name()), .config = decision.config};
}

/// Races both; nothing if the time does not allow a verdict, or the operands do not fit in memory.
std::optional<tune::Verdict> try_out(Session& session, const Task& task, const Decision& stored,
                                     const Decision& standard) {
  const std::vector<tune::Candidate> both = {candidate_of(stored), candidate_of(standard)};
  try {
    RaceSubject subject(session, task, largest_workspace(*task.query, both));
    const tune::Compiled first = subject.compile(both[0]);
    const tune::Compiled second = subject.compile(both[1]);
    return tune::duel(session.device(), first.enqueue, second.enqueue, budget_us);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    return std::nullopt;
  }
}

}  // namespace

Decision checked(Session& session, const Task& task, Decision stored, Decision standard) {
  if (standard.config == stored.config) return stored;
  const CodeStanding standing = session.tuning().standing(stored.code_digest());
  if (!standing.failure.empty()) {
    standard.note = fmt::format("a choice tuned {} is {}: {}", stored.note, standing.failure, standing.reason);
    return standard;
  }
  const auto verdict = try_out(session, task, stored, standard);
  if (!verdict) {
    stored.note +=
        fmt::format(", not checked here: {:.0f} ms are too short, or there is too little memory", budget_us / 1e3);
    return stored;
  }
  const double stored_us = verdict->first.median_us;
  const double standard_us = verdict->second.median_us;
  const bool stands = stored_us <= standard_us * (1 + tie);
  const std::string found = fmt::format("a choice tuned {}; checked here: {:.2f} us, the default {:.2f} us",
                                        stored.note, stored_us, standard_us);
  Decision winner = stands ? std::move(stored) : std::move(standard);
  winner.note = found;
  winner.provenance = Provenance::tuned_here;
  winner.median_us = stands ? stored_us : standard_us;
  winner.speedup_over_default = standard_us / *winner.median_us;
  session.tuning().set_winner(problem_key(*task.query), session.device_key(),
                              {.family = std::string(winner.family->name()),
                               .config = winner.config.to_map(),
                               .code_digest = winner.code_digest(),
                               .median_us = *winner.median_us,
                               .default_median_us = standard_us,
                               .rounds = verdict->rounds,
                               .effort = Effort::cached,
                               .library_version = library_version});
  return winner;
}

}  // namespace vostok::plan
