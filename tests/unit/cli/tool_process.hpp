// The built tool as users run it: a child process with its own cache folder.
#pragma once

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

class Tool {
 public:
  /// Runs `vostok` with these arguments; `variables` are set beside the inherited environment.
  Outcome run(const std::vector<std::string>& arguments, const std::vector<std::pair<std::string, std::string>>& variables = {}) const;

  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;  ///< its subfolder "cache" holds this tool's caches
};

}  // namespace vostok::cli::testing
