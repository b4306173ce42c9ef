#include "tune/duel.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace vostok::tune {

namespace {

constexpr int least_rounds = 3;
constexpr int most_rounds = 15;
constexpr int most_launches = 16;

/// One side of the duel: its launches in one sequence.
struct Side {
  std::unique_ptr<device::TimedSequence> sequence;
  std::vector<double> samples_us;
};

}  // namespace

std::optional<Verdict> duel(device::Device& device, const std::function<void(Stream)>& first,
                            const std::function<void(Stream)>& second, double budget_us) {
  const std::array enqueues = {&first, &second};
  double spent_us = 0;
  double round_us = 0;  // one launch of each
  for (const auto* enqueue : enqueues) {
    const auto pilot = device.record(*enqueue);
    const double us = pilot->replay_us();
    spent_us += us;
    round_us += us;
    if (spent_us > budget_us) return std::nullopt;
  }
  // As many launches as use up the time in all rounds. The pilots were cold and so took longer than launches will.
  const double share_us = (budget_us - spent_us) / most_rounds;
  const int launches = std::clamp(static_cast<int>(share_us / std::max(round_us, 1e-3)), 1, most_launches);
  std::array<Side, 2> sides;
  for (std::size_t i = 0; i < sides.size(); ++i)
    sides[i].sequence = device.record([&](Stream stream) {
      for (int launch = 0; launch < launches; ++launch) (*enqueues[i])(stream);
    });
  double last_us = round_us * launches;
  int rounds = 0;
  for (; rounds < most_rounds && spent_us + last_us <= budget_us; ++rounds) {
    last_us = 0;
    for (Side& side : sides) {
      const double us = side.sequence->replay_us();
      side.samples_us.push_back(us / launches);
      last_us += us;
    }
    spent_us += last_us;
  }
  if (rounds < least_rounds) return std::nullopt;
  return Verdict{.first = summarise(sides[0].samples_us), .second = summarise(sides[1].samples_us), .rounds = rounds};
}

}  // namespace vostok::tune
