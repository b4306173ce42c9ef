#include "bench/harness/rivals.hpp"

#include <algorithm>
#include <optional>

#include "base/text.hpp"

namespace vostok::bench {

namespace {

Rival* find(std::vector<Rival>& rivals, const std::string& name) {
  const auto position =
      std::find_if(rivals.begin(), rivals.end(), [&](const Rival& rival) { return rival.name == name; });
  return position == rivals.end() ? nullptr : &*position;
}

std::vector<Rival> fastest_of_each(const std::vector<Measured>& all) {
  std::vector<Rival> rivals;
  for (const Measured& measured : all) {
    if (measured.peer.empty() || !measured.counts()) continue;
    const auto& timing = measured.timed.timing.value();
    const Rival rival{.name = measured.peer, .us = timing.median_us, .spread_us = timing.spread_us};
    Rival* const known = find(rivals, rival.name);
    if (known == nullptr) rivals.push_back(rival);
    else if (rival.us < known->us) *known = rival;
  }
  return rivals;
}

std::optional<Rival> better_of_sparse_peers(std::vector<Rival>& rivals) {
  std::optional<Rival> better;
  for (const char* peer : {"cusparse", "sputnik"}) {
    const Rival* rival = find(rivals, peer);
    if (rival == nullptr) rival = find(rivals, baseline_name(peer));
    if (rival != nullptr && (!better || rival->us < better->us)) better = *rival;
  }
  if (better) better->name = better_sparse_peer;
  return better;
}

}  // namespace

std::string baseline_name(const std::string& peer) { return fmt::format("{} (baseline)", peer); }

std::vector<Rival> find_rivals(const std::vector<Measured>& measured, const Baseline& baseline) {
  std::vector<Rival> rivals = fastest_of_each(measured);
  for (const auto& [peer, us] : baseline) rivals.push_back({.name = baseline_name(peer), .us = us});
  if (const auto better = better_of_sparse_peers(rivals)) rivals.push_back(*better);
  return rivals;
}

}  // namespace vostok::bench
