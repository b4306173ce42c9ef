#include "plan/nearest.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <tuple>

#include "device/architecture.hpp"
#include "plan/decision.hpp"

namespace vostok::plan {

namespace {

double log_size(double size) { return std::log2(std::max(size, 1.0)); }

double doublings(std::int64_t a, std::int64_t b) {
  return std::abs(log_size(static_cast<double>(a)) - log_size(static_cast<double>(b)));
}

double log_density(const Features& f) {
  return log_size(static_cast<double>(f.nonzeros)) - log_size(static_cast<double>(f.m)) -
         log_size(static_cast<double>(f.k));
}

double log_imbalance(const Features& f) {
  const double mean_row = static_cast<double>(f.nonzeros) / static_cast<double>(std::max<std::int64_t>(f.m, 1));
  return mean_row > 0 ? log_size(static_cast<double>(f.longest_row) / mean_row) : 0;
}

/// 9 for "sm_90" and "sm_90a"; nothing if it is not a GPU.
std::optional<int> generation(std::string_view architecture) {
  const auto name = device::parse_architecture(architecture);
  return name ? std::optional(name->capability / 10) : std::nullopt;
}

bool within_a_tenth(std::int64_t a, std::int64_t b) {
  return std::abs(static_cast<double>(a) - static_cast<double>(b)) <= 0.1 * static_cast<double>(std::max(a, b));
}

/// The last group of best_first that was tuned for the problem or the plain one; later groups are neighbours.
constexpr int last_tuned_group = 4;

struct Ranked {
  int group = 0;
  double distance = 0;
  bool elsewhere = false;
  int layer = 0;
  WinnerMatch match;

  auto order() const { return std::tie(group, distance, match.plain, elsewhere, layer, match.device.uuid); }
};

std::optional<Ranked> rank(const StoredWinner& row, const ProblemKey& problem, const DeviceKey& device) {
  const bool here = same_device(row.device, device);
  const bool this_model = here || same_model(row.device, device);
  Ranked ranked{.elsewhere = !here,
                .layer = row.layer,
                .match = {.winner = row.winner, .device = row.device, .features = row.features}};
  ranked.match.plain = row.plain;
  if (row.features == problem.features && this_model) {
    ranked.group = (here ? 1 : 2) + (row.plain ? 2 : 0);
    ranked.match.provenance = here          ? Provenance::tuned_here
                              : row.shipped ? Provenance::shipped
                                            : Provenance::tuned_elsewhere;
    return ranked;
  }
  const bool this_problem = row.features == problem.features;
  const bool sibling = !this_model && same_multiprocessors(row.device, device);
  if (!this_model && !this_problem && !sibling) return std::nullopt;
  const bool by_device = !this_model && this_problem;
  ranked.group = last_tuned_group + (this_model ? 2 : !this_problem ? 4 : sibling ? 1 : 3);
  ranked.distance = by_device ? device_distance(row.device, device) : problem_distance(row.features, problem.features);
  ranked.match.provenance = this_model ? Provenance::nearest_problem : Provenance::nearest_device;
  ranked.match.distance = ranked.distance;
  if (!(ranked.distance <= (by_device ? farthest_device : farthest_problem)))
    return std::nullopt;  // also where it is not a number
  return ranked;
}

}  // namespace

bool same_device(const DeviceKey& a, const DeviceKey& b) {
  return std::tie(a.uuid, a.name, a.architecture, a.multiprocessors) ==
         std::tie(b.uuid, b.name, b.architecture, b.multiprocessors);
}

bool same_model(const DeviceKey& a, const DeviceKey& b) {
  return std::tie(a.name, a.architecture, a.multiprocessors) == std::tie(b.name, b.architecture, b.multiprocessors) &&
         within_a_tenth(a.memory_bytes, b.memory_bytes);
}

bool same_problem(const ProblemKey& a, const ProblemKey& b) {
  return std::tie(a.operation, a.exact, a.policy, a.features) == std::tie(b.operation, b.exact, b.policy, b.features);
}

bool same_multiprocessors(const DeviceKey& a, const DeviceKey& b) {
  return generation(a.architecture) &&
         std::tie(a.architecture, a.multiprocessors) == std::tie(b.architecture, b.multiprocessors);
}

double problem_distance(const Features& a, const Features& b) {
  using W = ProblemWeights;
  return W::m * doublings(a.m, b.m) + W::k * doublings(a.k, b.k) + W::n * doublings(a.n, b.n) +
         W::density * std::abs(log_density(a) - log_density(b)) +
         W::row_variation * std::abs(a.row_variation - b.row_variation) +
         W::imbalance * std::abs(log_imbalance(a) - log_imbalance(b)) + (a.index == b.index ? 0 : W::index);
}

Range reach(std::int64_t size, double weight) {
  const double factor = std::exp2(farthest_problem / weight);
  const double low = std::floor(static_cast<double>(size) / factor);
  const double high = std::ceil(static_cast<double>(std::max<std::int64_t>(size, 1)) * factor);
  constexpr double limit = 9.2e18;  // just below the largest 64-bit integer
  return {.least = low <= 1 ? 0 : static_cast<std::int64_t>(low),
          .most = static_cast<std::int64_t>(std::min(high, limit))};
}

double device_distance(const DeviceKey& a, const DeviceKey& b) {
  const auto first = generation(a.architecture);
  const auto second = generation(b.architecture);
  if (!first || !second) return std::numeric_limits<double>::infinity();
  return std::abs(*first - *second) + doublings(a.multiprocessors, b.multiprocessors);
}

std::vector<WinnerMatch> without_neighbours(std::vector<WinnerMatch> matches) {
  std::erase_if(matches, [](const WinnerMatch& match) { return !is_tuned(match.provenance); });
  return matches;
}

std::vector<WinnerMatch> best_first(const std::vector<StoredWinner>& rows, const ProblemKey& problem,
                                    const DeviceKey& device) {
  std::vector<Ranked> ranked;
  for (const StoredWinner& row : rows)
    if (auto position = rank(row, problem, device)) ranked.push_back(std::move(*position));
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Ranked& a, const Ranked& b) { return a.order() < b.order(); });
  std::vector<WinnerMatch> matches;
  int group = 0;
  std::size_t in_group = 0;
  for (Ranked& candidate : ranked) {
    in_group = candidate.group == group ? in_group + 1 : 1;
    group = candidate.group;
    if (group <= last_tuned_group || in_group <= most_neighbours) matches.push_back(std::move(candidate.match));
  }
  return matches;
}

}  // namespace vostok::plan
