#include "cache/tuning_store.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/unix_time.hpp"
#include "cache/code_standing.hpp"
#include "cache/tuning_rows.hpp"

namespace vostok::cache {

namespace {

/// What memory holds was found after the files stopped taking it, so it is asked first.
std::vector<plan::StoredWinner> from_memory(const Layers& layers, const plan::ProblemKey& problem, const plan::DeviceKey& device) {
  std::vector<plan::StoredWinner> rows;
  for (plan::WinnerMatch& match : layers.memory().tuning->find(problem, device))
    rows.push_back({.winner = std::move(match.winner), .device = std::move(match.device), .features = std::move(match.features), .layer = -1});
  return rows;
}

std::vector<plan::StoredWinner> all_winners(Layers& layers, const plan::ProblemKey& problem, const plan::DeviceKey& device) {
  auto rows = from_memory(layers, problem, device);
  int position = 0;
  for (Layer& layer : layers.files()) {
    std::vector<plan::StoredWinner> found;
    if (layer.read([&](Connection& connection) { found = winners_near(connection, problem); })) {
      for (plan::StoredWinner& row : found) {
        row.layer = position;
        row.shipped = layer.file().kind == LayerKind::shipped;
      }
      std::move(found.begin(), found.end(), std::back_inserter(rows));
    }
    ++position;
  }
  return rows;
}

bool of_one_candidate(const plan::TrialRecord& a, const plan::TrialRecord& b) {
  return a.family == b.family && a.config == b.config && a.code_digest == b.code_digest;
}

/// The first layer that has a trial is believed.
void add_unknown(std::vector<plan::TrialRecord>& trials, std::vector<plan::TrialRecord> found) {
  const auto known = static_cast<std::ptrdiff_t>(trials.size());
  for (plan::TrialRecord& trial : found) {
    const auto same = [&](const plan::TrialRecord& other) { return of_one_candidate(trial, other); };
    if (std::none_of(trials.begin(), trials.begin() + known, same)) trials.push_back(std::move(trial));
  }
}

}  // namespace

TuningStore::TuningStore(const StoreSettings& settings)
    : reporter_(settings.reporter), layers_([settings] { return std::make_unique<Layers>(settings); }) {}

std::vector<plan::WinnerMatch> TuningStore::find(const plan::ProblemKey& problem, const plan::DeviceKey& device) {
  return guarded<std::vector<plan::WinnerMatch>>(
      layers_, *reporter_, [&](Layers& layers) { return plan::best_first(all_winners(layers, problem, device), problem, device); });
}

std::vector<plan::TrialRecord> TuningStore::trials(const plan::ProblemKey& problem, const plan::DeviceKey& device) {
  return guarded<std::vector<plan::TrialRecord>>(layers_, *reporter_, [&](Layers& layers) {
    auto trials = layers.memory().tuning->trials(problem, device);
    for (Layer& layer : layers.files()) {
      std::vector<plan::TrialRecord> found;
      if (layer.read([&](Connection& connection) { found = trials_of(connection, problem, device); })) add_unknown(trials, std::move(found));
    }
    return trials;
  });
}

plan::CodeStanding TuningStore::standing(const std::string& code_digest) {
  return guarded<plan::CodeStanding>(layers_, *reporter_, [&](Layers& layers) {
    plan::CodeStanding all = layers.memory().tuning->standing(code_digest);
    for (Layer& layer : layers.files()) {
      plan::CodeStanding found;
      if (!layer.read([&](Connection& connection) { found = standing_of(connection, code_digest); })) continue;
      all.passed = all.passed || found.passed;
      if (all.failure.empty()) all.failure = std::move(found.failure), all.reason = std::move(found.reason);
    }
    return all;
  });
}

void TuningStore::add_trials(const plan::ProblemKey& problem, const plan::DeviceKey& device, std::span<const plan::TrialRecord> trials) {
  const auto store = [&](Connection& connection) {
    for (const plan::TrialRecord& trial : trials) store_trial(connection, problem, device, trial);
  };
  guarded<void>(layers_, *reporter_, [&](Layers& layers) {
    if (!layers.write(store)) layers.memory().tuning->add_trials(problem, device, trials);
  });
}

void TuningStore::set_winner(const plan::ProblemKey& problem, const plan::DeviceKey& device, const plan::WinnerRecord& winner) {
  guarded<void>(layers_, *reporter_, [&](Layers& layers) {
    if (!layers.write([&](Connection& connection) { store_winner(connection, problem, device, winner, unix_seconds()); }))
      layers.memory().tuning->set_winner(problem, device, winner);
  });
}

std::vector<LayerState> TuningStore::states() {
  return guarded<std::vector<LayerState>>(layers_, *reporter_, [](Layers& layers) { return layers.states(); });
}

}  // namespace vostok::cache
