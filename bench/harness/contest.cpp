#include "bench/harness/contest.hpp"

#include <algorithm>
#include <exception>

namespace vostok::bench {

namespace {

/// Replaces the tolerance if a way's arithmetic admits a larger one than ours must meet. It excuses the error, and
/// nothing else that is wrong.
void hold_to(tune::Check& check, double tolerance) {
  if (tolerance <= check.tolerance) return;
  check.tolerance = tolerance;
  if (!check.imprecise || !(check.error <= tolerance)) return;
  check.wrong.clear();
  check.imprecise = false;
}

Measured verify(const PeerRun& run, tune::Case& operands) {
  Measured measured{.peer = run.peer, .variant = run.variant, .timed = {.failure = run.failure}};
  if (!run.failure.empty()) return measured;
  try {
    measured.check = operands.verify(run.enqueue_and_deliver ? run.enqueue_and_deliver : run.enqueue);
    hold_to(measured.check, run.tolerance);
  } catch (const std::exception& error) {
    measured.timed.failure = error.what();
  }
  return measured;
}

}  // namespace

std::vector<Measured> hold_contest(device::Device& device, tune::Case& operands, const std::vector<PeerRun>& runs,
                                   int rounds) {
  std::vector<Measured> all;
  std::vector<Contender> contenders;
  std::vector<std::size_t> positions;  // of the contenders in `all`
  for (const PeerRun& run : runs) {
    all.push_back(verify(run, run.operands ? *run.operands : operands));
    if (!all.back().timed.failure.empty()) continue;
    positions.push_back(all.size() - 1);
    contenders.push_back({.name = run.peer, .enqueue = run.enqueue, .period = run.period});
  }
  const std::vector<Timed> timings = time_side_by_side(device, contenders, rounds);
  for (std::size_t i = 0; i < positions.size(); ++i) all[positions[i]].timed = timings[i];
  return all;
}

Json measured_json(const Measured& measured) {
  Json json = timed_json(measured.timed);
  const bool ran = measured.timed.failure.empty();
  json["error"] = ran ? number(measured.check.error) : Json(nullptr);
  json["tolerance"] = ran ? number(measured.check.tolerance) : Json(nullptr);
  json["verified"] = measured.counts();
  json["wrong"] = text_or_null(measured.check.wrong);
  return json;
}

}  // namespace vostok::bench
