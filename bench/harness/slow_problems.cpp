#include "bench/harness/slow_problems.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace vostok::bench {

void SlowProblems::note(const std::string& label, double ours_us, const ops::ProductBound& bound) {
  if (bound.exceeded_by(ours_us)) all_.push_back({.label = label, .ours_us = ours_us, .bound = bound});
}

std::vector<SlowProblems::Slow> SlowProblems::sorted() const {
  std::vector<Slow> list = all_;
  std::ranges::sort(list, std::ranges::greater{}, [](const Slow& slow) { return std::pair(slow.times(), slow.label); });
  return list;
}

Json SlowProblems::to_json() const {
  Json json = Json::array();
  for (const Slow& slow : sorted())
    json.push_back({{"problem", slow.label},
                    {"ours_us", slow.ours_us},
                    {"memory_us", number(slow.bound.memory_us)},
                    {"dense_us", number(slow.bound.dense_us)}});
  return json;
}

std::string SlowProblems::text(std::size_t among) const {
  if (all_.empty()) return "";
  std::string text =
      fmt::format("\n{} of {} problems take more than twice 3 us and what memory or the dense product ask for:\n",
                  all_.size(), among);
  for (const Slow& slow : sorted())
    text += fmt::format("  {:.1f}x, {:.2f} us (memory {:.2f}, dense {:.2f}): {}\n", slow.times(), slow.ours_us,
                        slow.bound.memory_us, slow.bound.dense_us, slow.label);
  return text;
}

}  // namespace vostok::bench
