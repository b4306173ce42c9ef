#include "cache/merge.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "base/digest.hpp"
#include "base/text.hpp"
#include "cache/code_rows.hpp"
#include "cache/schema.hpp"
#include "cache/versions.hpp"

namespace vostok::cache {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

std::string number(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; }

std::string digest(const TrialRow& row) {
  const plan::TrialRecord& t = row.trial;
  return Digest()
      .add(std::int64_t{t.is_default})
      .add(t.status)
      .add(t.reason)
      .add(number(t.median_us))
      .add(number(t.spread_us))
      .add(std::int64_t{t.rounds})
      .add(std::int64_t{t.registers})
      .add(t.spill_bytes)
      .add(t.shared_bytes)
      .add(row.device.driver)
      .add(t.measured_at)
      .hex();
}

std::string digest(const WinnerRow& row) {
  const plan::WinnerRecord& w = row.winner;
  return Digest()
      .add(w.family)
      .add(to_text(w.config))
      .add(w.code_digest)
      .add(number(w.median_us))
      .add(number(w.default_median_us))
      .add(std::int64_t{w.rounds})
      .add(name(w.effort))
      .add(w.library_version)
      .add(row.device.driver)
      .add(row.decided_at)
      .hex();
}

std::string digest(const Erratum& e) {
  return Digest()
      .add(e.operation)
      .add(e.family)
      .add(to_text(e.config))
      .add(to_text(e.exact))
      .add(e.architecture)
      .add(e.code_digest)
      .add(e.last_library_version)
      .add(e.reason)
      .hex();
}

/// The order of trials of one name; the smaller is the better.
auto rank_of(const TrialRow& row) {
  return std::tuple(!plan::is_failure(row.trial.status, row.trial.reason), -row.trial.rounds,
                    row.trial.median_us.value_or(never), digest(row));
}

bool is_better(const TrialRow& a, const TrialRow& b) { return rank_of(a) < rank_of(b); }

bool is_better(const WinnerRow& a, const WinnerRow& b) {
  if (is_newer(a.winner.library_version, b.winner.library_version)) return true;
  if (is_newer(b.winner.library_version, a.winner.library_version)) return false;
  const auto order = [](const WinnerRow& row) {
    return std::tuple(-row.winner.rounds, row.winner.median_us, digest(row));
  };
  return order(a) < order(b);
}

bool is_better(const Erratum& a, const Erratum& b) {
  return std::tuple(-a.created_at, digest(a)) < std::tuple(-b.created_at, digest(b));
}

std::string row_name(const Erratum& erratum) { return erratum.id; }

template <class Row>
std::vector<Row> best_of(const std::vector<Row>& a, const std::vector<Row>& b) {
  std::map<std::string, Row> best;
  for (const std::vector<Row>* rows : {&a, &b})
    for (const Row& row : *rows) {
      const auto [known, is_new] = best.emplace(row_name(row), row);
      if (!is_new && is_better(row, known->second)) known->second = row;
    }
  std::vector<Row> kept;
  kept.reserve(best.size());
  for (auto& [name, row] : best) kept.push_back(std::move(row));
  return kept;
}

bool is_better(const CodeRow& a, const CodeRow& b) {
  if (is_newer(a.entry.compiler, b.entry.compiler)) return true;
  if (is_newer(b.entry.compiler, a.entry.compiler)) return false;
  return a.digest < b.digest;
}

}  // namespace

TuningContent merged(const TuningContent& a, const TuningContent& b) {
  return {.trials = best_of(a.trials, b.trials),
          .winners = best_of(a.winners, b.winners),
          .errata = best_of(a.errata, b.errata)};
}

void merge_code(Connection& a, Connection& b, Connection& out) {
  for (Connection* file : {&a, &b}) check_schema(*file, Content::code);
  std::map<std::string, int> keys;
  for (Connection* file : {&a, &b})
    for (const std::string& key : code_keys(*file)) ++keys[key];
  Transaction transaction(out);
  for (const auto& [key, count] : keys) {
    auto first = code_row(a, key);
    auto second = code_row(b, key);
    if (first && !first->is_intact) first.reset();
    if (second && !second->is_intact) second.reset();
    if (!first && !second) continue;
    const std::int64_t last_use = std::max(first ? first->last_use : 0, second ? second->last_use : 0);
    const CodeRow& better = !second || (first && is_better(*first, *second)) ? *first : *second;
    store_code(out, better.entry, better.image, last_use, std::numeric_limits<std::int64_t>::max());
  }
  transaction.commit();
}

}  // namespace vostok::cache
