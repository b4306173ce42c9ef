// The built tool as users run it: a child process with its own cache folder.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/temporary_folder.hpp"
#include "contains.hpp"
#include "unit/sparse/files.hpp"

namespace vostok::cli::testing {

using test::contains;

struct Outcome {
  int status = -1;     ///< exit status; 128 + signal where one ended it
  std::string output;  ///< stdout
  std::string errors;  ///< stderr
};

/// Where a tool's stdout goes instead of into `Outcome::output`.
enum class Stdout {
  file,            ///< it does not
  full_device,     ///< ENOSPC
  closed,          ///< there is none
  pipe_of_nobody,  ///< whose reader has gone; SIGPIPE as it is by default
  pipe_no_signal,  ///< the same, SIGPIPE ignored
};

using Variables = std::vector<std::pair<std::string, std::string>>;

class Tool {
 public:
  /// Runs `vostok` with these arguments; `variables` are set beside the inherited environment.
  Outcome run(const std::vector<std::string>& arguments, const Variables& variables = {}) const;

  /// The same, with stdout elsewhere. stdin is /dev/null.
  Outcome run_into(Stdout target, const std::vector<std::string>& arguments, const Variables& variables = {}) const;

  const TemporaryFolder& folder() const { return folder_; }

 private:
  /// `prepare` runs in the child, behind the redirections.
  Outcome start(const std::vector<std::string>& arguments, const std::function<void()>& prepare) const;

  TemporaryFolder folder_;  ///< its subfolder "cache" holds this tool's caches
};

}  // namespace vostok::cli::testing
