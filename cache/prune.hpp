// Making cache files smaller by what is old, long unused, known to be bad, or no longer the code that would run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace vostok::cache {

/// A trial that failed is what bans its machine code: it stays, however old or stale, until bans are lifted.
struct PruneSettings {
  std::optional<std::int64_t> older_than_seconds = {};  ///< trials measured, and kernels last used, longer ago; winners stay
  std::optional<std::int64_t> max_bytes = {};           ///< kernels: the longest unused go until the rest fits
  bool banned = false;                                  ///< winners of machine code that failed anywhere, and where it was measured
  bool lift_bans = false;                               ///< failures, and what was not tried because of them: it may be tried again
  bool stale = false;                                   ///< trials whose config has been measured with newer machine code
};

struct Pruned {
  std::int64_t trials = 0;
  std::int64_t winners = 0;
  std::int64_t kernels = 0;
  std::int64_t bytes_before = 0;
  std::int64_t bytes_after = 0;
};

/// Removes rows in one transaction, while others may use the file, and gives their space back. Rows of a tuning.db that cannot be read
/// go too. `now` is in Unix seconds. Errors: io_failure.
Pruned prune(const std::filesystem::path& path, const PruneSettings& settings, std::int64_t now);

}  // namespace vostok::cache
