#include "cache/tuning_store.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "base/unix_time.hpp"
#include "cache/code_standing.hpp"
#include "cache/merge.hpp"
#include "cache/tuning_rows.hpp"

namespace vostok::cache {

namespace {

/// The answer of one place. Memory is asked first: it holds what was found after files stopped accepting writes.
template <class Answer>
struct Answered {
  const Layer* layer = nullptr;  ///< null: memory
  Answer answer;
};

template <class Answer>
std::vector<Answered<Answer>> answers(Layers& layers, const std::function<Answer(Connection&)>& ask) {
  std::vector<Answered<Answer>> all;
  if (Connection* memory = layers.remembered()) all.push_back({nullptr, ask(*memory)});
  for (Layer& layer : layers.files()) {
    Answer answer;
    if (layer.read([&](Connection& connection) { answer = ask(connection); }))
      all.push_back({&layer, std::move(answer)});
  }
  return all;
}

/// Stores in the first file that accepts it, else in memory.
void store(Layers& layers, const std::function<void(Connection&)>& work) {
  if (layers.write(work)) return;
  try {
    Transaction transaction(layers.memory_rows());
    work(layers.memory_rows());
    transaction.commit();
  } catch (const DatabaseError& error) {
    if (error.failure() != Failure::refused) throw;  // no file accepted it either, and one has reported that
  }
}

struct Rules {
  std::vector<plan::StoredWinner> winners;
  std::vector<Erratum> errata;
};

/// An erratum, and the first layer whose choices it masks.
struct Rule {
  Erratum erratum;
  int first_layer = 0;
  std::string from;  ///< the file that contains it
};

struct Standing {
  std::vector<plan::StoredWinner> winners = {};
  std::vector<plan::MaskedWinner> masked = {};
};

bool is_own(const Layer* layer) { return layer == nullptr || layer->file().kind == LayerKind::user; }

/// Returns the first layer that a rule may mask. The library's own errata and the user's count everywhere. A file made
/// by others masks only itself and the layers after it, so that it cannot remove what the user has measured.
int first_masked(const Layer* layer, int position) {
  const bool everywhere = is_own(layer) || layer->file().kind == LayerKind::shipped;
  return everywhere ? 0 : position;
}

plan::ProblemKey plain_of(plan::ProblemKey problem) {
  problem.exact = std::move(problem.plain);
  problem.plain.clear();
  return problem;
}

/// Results of `read` for the problem, and for the plain one.
template <class Read>
std::vector<plan::StoredWinner> serving_winners(Connection& connection, const plan::ProblemKey& problem, Read&& read) {
  std::vector<plan::StoredWinner> rows = read(connection, problem);
  if (problem.plain.empty()) return rows;
  for (plan::StoredWinner& row : read(connection, plain_of(problem))) {
    row.plain = true;
    rows.push_back(std::move(row));
  }
  return rows;
}

const Rule* rule_for(const plan::StoredWinner& row, const std::vector<Rule>& rules, const plan::ProblemKey& problem,
                     const plan::DeviceKey& device) {
  const MaskedChoice choice{.problem = problem,
                            .architecture = device.architecture,
                            .family = row.winner.family,
                            .config = row.winner.config,
                            .code_digest = row.winner.code_digest,
                            .library_version = row.winner.library_version};
  const auto found = std::ranges::find_if(
      rules, [&](const Rule& rule) { return row.layer >= rule.first_layer && masks(rule.erratum, choice); });
  return found == rules.end() ? nullptr : &*found;
}

/// The rule against a row. A choice of the plain problem serves the whole one, so a rule against either masks it.
const Rule* rule_against(const plan::StoredWinner& row, const std::vector<Rule>& rules, const plan::ProblemKey& problem,
                         const plan::DeviceKey& device) {
  const Rule* const rule = rule_for(row, rules, problem, device);
  return rule != nullptr || !row.plain ? rule : rule_for(row, rules, plain_of(problem), device);
}

std::string rule_words(const Rule& rule) {
  return fmt::format("erratum {} of {}{}", printable(rule.erratum.id), rule.from,
                     rule.erratum.reason.empty() ? "" : ": " + printable(rule.erratum.reason));
}

/// Results of `read` in every layer, apart from what errata mask.
template <class Read>
Standing standing_winners(Layers& layers, const plan::ProblemKey& problem, const plan::DeviceKey& device, Read&& read) {
  const auto ask = [&](Connection& connection) {
    return Rules{serving_winners(connection, problem, read), all_errata(connection)};
  };
  std::vector<plan::StoredWinner> rows;
  std::vector<Rule> rules;
  std::set<int> own;  // layers
  int position = 0;
  for (auto& [layer, found] : answers<Rules>(layers, ask)) {
    if (is_own(layer)) own.insert(position);
    for (plan::StoredWinner& row : found.winners) {
      row.layer = position;
      row.shipped = layer != nullptr && layer->file().kind == LayerKind::shipped;
      rows.push_back(std::move(row));
    }
    const std::string from = layer == nullptr ? "this process" : layer->file().path.string();
    for (Erratum& erratum : found.errata) rules.push_back({std::move(erratum), first_masked(layer, position), from});
    ++position;
  }
  Standing standing;
  for (plan::StoredWinner& row : rows) {
    const Rule* rule = rule_against(row, rules, problem, device);
    if (rule == nullptr) standing.winners.push_back(std::move(row));
    else
      standing.masked.push_back(
          {.winner = std::move(row.winner), .own = own.contains(row.layer), .by = rule_words(*rule)});
  }
  return standing;
}

/// Tells a user once why their own measured choice is not used; for shipped choices explanations tell it.
void tell(const Standing& standing, const plan::ProblemKey& problem, Layers& layers, const Reporter& reporter) {
  for (const plan::MaskedWinner& masked : standing.masked) {
    if (!masked.own) continue;
    const std::string sentence =
        fmt::format("a choice measured for {} is not used ({} {}): {}", printable(problem.operation),
                    printable(masked.winner.family), printable(to_text(masked.winner.config)), masked.by);
    if (layers.notes().insert(sentence).second) reporter.note(sentence);
  }
}

bool of_one_candidate(const plan::TrialRecord& a, const plan::TrialRecord& b) {
  return a.family == b.family && a.config == b.config && a.code_digest == b.code_digest;
}

/// Adds trials that are not known yet: the first layer that has a trial counts.
void add_unknown(std::vector<plan::TrialRecord>& trials, std::vector<plan::TrialRecord> found) {
  const auto known = static_cast<std::ptrdiff_t>(trials.size());
  for (plan::TrialRecord& trial : found) {
    const auto same = [&](const plan::TrialRecord& other) { return of_one_candidate(trial, other); };
    if (std::none_of(trials.begin(), trials.begin() + known, same)) trials.push_back(std::move(trial));
  }
}

/// Of the new rows, only those that do not replace a measurement of this device.
TuningContent without_measured_here(TuningContent rows, const TuningContent& known, const plan::DeviceKey& here) {
  std::set<std::string> measured;
  for (const TrialRow& row : known.trials)
    if (plan::same_device(row.device, here)) measured.insert("trial " + row_name(row));
  for (const WinnerRow& row : known.winners)
    if (plan::same_device(row.device, here)) measured.insert("winner " + row_name(row));
  std::erase_if(rows.trials, [&](const TrialRow& row) { return measured.count("trial " + row_name(row)) != 0; });
  std::erase_if(rows.winners, [&](const WinnerRow& row) { return measured.count("winner " + row_name(row)) != 0; });
  return rows;
}

}  // namespace

TuningStore::TuningStore(const StoreSettings& settings)
    : reporter_(settings.reporter), layers_([settings] { return std::make_unique<Layers>(settings); }) {}

std::vector<plan::WinnerMatch> TuningStore::find(const plan::ProblemKey& problem, const plan::DeviceKey& device) {
  return guarded<std::vector<plan::WinnerMatch>>(layers_, *reporter_, [&](Layers& layers) {
    return plan::best_first(standing_winners(layers, problem, device, winners_near).winners, problem, device);
  });
}

std::vector<plan::WinnerMatch> TuningStore::find_same(const plan::ProblemKey& problem, const plan::DeviceKey& device) {
  return guarded<std::vector<plan::WinnerMatch>>(layers_, *reporter_, [&](Layers& layers) {
    const Standing standing = standing_winners(layers, problem, device, winners_of);
    tell(standing, problem, layers, *reporter_);
    return plan::without_neighbours(plan::best_first(standing.winners, problem, device));
  });
}

std::vector<plan::MaskedWinner> TuningStore::masked(const plan::ProblemKey& problem, const plan::DeviceKey& device) {
  return guarded<std::vector<plan::MaskedWinner>>(layers_, *reporter_, [&](Layers& layers) {
    return standing_winners(layers, problem, device, winners_of).masked;
  });
}

std::vector<plan::TrialRecord> TuningStore::trials(const plan::ProblemKey& problem, const plan::DeviceKey& device) {
  return guarded<std::vector<plan::TrialRecord>>(layers_, *reporter_, [&](Layers& layers) {
    std::vector<plan::TrialRecord> trials;
    const auto ask = [&](Connection& connection) { return trials_of(connection, problem, device); };
    for (auto& [layer, found] : answers<std::vector<plan::TrialRecord>>(layers, ask))
      add_unknown(trials, std::move(found));
    return trials;
  });
}

plan::CodeStanding TuningStore::standing(const std::string& code_digest) {
  return guarded<plan::CodeStanding>(layers_, *reporter_, [&](Layers& layers) {
    plan::CodeStanding all;
    const auto ask = [&](Connection& connection) { return standing_of(connection, code_digest); };
    for (auto& [layer, found] : answers<plan::CodeStanding>(layers, ask)) {
      all.passed = all.passed || found.passed;
      if (all.failure.empty()) all.failure = std::move(found.failure), all.reason = std::move(found.reason);
    }
    return all;
  });
}

void TuningStore::add_trials(const plan::ProblemKey& problem, const plan::DeviceKey& device,
                             std::span<const plan::TrialRecord> trials) {
  guarded<void>(layers_, *reporter_, [&](Layers& layers) {
    store(layers, [&](Connection& connection) {
      for (const plan::TrialRecord& trial : trials) store_trial(connection, problem, device, trial);
    });
  });
}

void TuningStore::set_winner(const plan::ProblemKey& problem, const plan::DeviceKey& device,
                             const plan::WinnerRecord& winner) {
  guarded<void>(layers_, *reporter_, [&](Layers& layers) {
    store(layers, [&](Connection& connection) { store_winner(connection, problem, device, winner, unix_seconds()); });
  });
}

TuningContent TuningStore::own_rows() {
  return guarded<TuningContent>(layers_, *reporter_, [&](Layers& layers) {
    TuningContent rows;
    for (auto& [layer, found] : answers<TuningContent>(layers, all_rows))
      if (layer == nullptr || layer->file().kind == LayerKind::user) rows = merged(rows, found);
    return rows;
  });
}

void TuningStore::add_rows(const TuningContent& rows, const plan::DeviceKey& here) {
  guarded<void>(layers_, *reporter_, [&](Layers& layers) {
    store(layers, [&](Connection& connection) {
      store_rows(without_measured_here(rows, all_rows(connection), here), connection);
    });
  });
}

void TuningStore::reload() {
  guarded<void>(layers_, *reporter_, [](Layers& layers) { layers.reopen(); });
}

std::vector<LayerState> TuningStore::states(bool count_rows) {
  return guarded<std::vector<LayerState>>(layers_, *reporter_,
                                          [&](Layers& layers) { return layers.states(count_rows); });
}

}  // namespace vostok::cache
