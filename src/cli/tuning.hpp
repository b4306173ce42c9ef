// `vostok tune`: tunes every problem of a file, one after another, within one time limit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <vostok/context.hpp>

#include "cli/problem_file.hpp"

namespace vostok::cli {

struct TuneOptions {
  std::string problems = {};  ///< the file
  Effort effort = Effort::full;
  Policy policy = Policy::warm;
  std::optional<double> time_limit_seconds =
      {};  ///< for all problems together; absent: until every candidate is measured
  std::string device = "auto";
  std::string cache = {};
  std::filesystem::path tool = {};  ///< this program's path, if it is the tool (context_options)
  bool json = false;
};

/// The result of one problem.
struct TunedProblem {
  const ProblemLine* line = nullptr;
  std::string error = {};     ///< why it has no choice; empty: it has one
  Explanation choice = {};    ///< with its steps, if the operation has several
  std::int64_t measured = 0;  ///< candidates
  std::int64_t compiled = 0;  ///< kernels
  double seconds = 0;

  /// Whether it has a choice that is not a measured one: nothing could be measured, now or before.
  bool untuned() const;
};

struct TuneReport {
  DeviceInfo device = {};
  std::size_t problems = 0;              ///< of the file
  std::size_t slow = 0;                  ///< of those, the problems tuned first because their present choice is slow
  std::vector<TunedProblem> tuned = {};  ///< the problems that were reached
  double seconds = 0;
  bool interrupted = false;
};

/// Lines for which `is_slow` holds, then the others, each in the file's order. `goes_on` is called before each line;
/// once it is false, a line counts as not slow.
std::vector<const ProblemLine*> slow_first(const std::vector<ProblemLine>& lines,
                                           const std::function<bool(const ProblemLine&)>& is_slow,
                                           const std::function<bool()>& goes_on);

/// Tunes all problems, those with a slow choice (Explanation::is_slow) first; an error of one problem is recorded with
/// it. Errors: those of opening the context.
TuneReport tune_problems(const TuneOptions& options, const std::vector<ProblemLine>& lines);

std::string tune_text(const TuneReport& report);
std::string tune_json(const TuneReport& report);
/// Success only if every problem that was reached has measured choices, or computes nothing.
int tune_status(const TuneReport& report);

}  // namespace vostok::cli
