// Times measured elsewhere by others, from a CSV file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "bench/harness/problems.hpp"

namespace vostok::bench {

/// Microseconds per call, by peer; a peer that did not run the case (-1 in the file) is missing.
using Baseline = std::map<std::string, double>;

/// The columns that are read, besides set_or_file, sparsity and row_cov.
struct BaselineColumns {
  struct Time {
    const char* column;
    const char* peer;
  };
  const char* rows;
  const char* cols;
  const char*
      n;  ///< nullptr if the operation has none: of cases that are otherwise equal, each peer's fastest time is kept
  std::vector<Time> times;
};

class Baselines {
 public:
  Baselines() = default;
  /// Parses a header line that names the columns, in any order among others, then one line for each case. A set_or_file
  /// that does not end in .smtx is a set of generated matrices. Errors: invalid_argument naming the column or line.
  static Baselines parse(std::string_view csv, const BaselineColumns& columns);
  /// Errors: io_failure, invalid_argument.
  static Baselines read(const std::filesystem::path& path, const BaselineColumns& columns);

  /// The case of this problem, whose matrix has these sizes; empty if there is none.
  Baseline find(const Problem& problem, std::int64_t rows, std::int64_t cols) const;

  /// The cases with generated matrices, as problems, in the file's order.
  const std::vector<Problem>& generated() const { return generated_; }

 private:
  using Key = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>;
  std::map<Key, Baseline> cases_;
  std::vector<Problem> generated_;
};

}  // namespace vostok::bench
