// Comparisons with several others, by group of problems, as JSON and as tables.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/comparison.hpp"
#include "bench/harness/json.hpp"

namespace vostok::bench {

class Comparisons {
 public:
  /// Adds one problem against one other; it counts in its group and in "all".
  void add(const std::string& other, const std::string& group, const TimePair& pair);

  /// {other: {group: {problems, geomean, at_least_as_fast, with_allowance, within_noise}, worst: [...]}}
  Json to_json() const;
  /// Markdown: a line for each other and group, then each other's worst problems. Empty if nothing was compared.
  std::string table() const;

 private:
  struct Other {
    std::string name;
    std::map<std::string, std::vector<TimePair>> groups;
  };
  std::vector<Other> others_;  ///< in the order of their first pair
};

}  // namespace vostok::bench
