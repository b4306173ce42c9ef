// Shrinks cache files by removing what is old, long unused, known to be bad, or outdated by newer machine code.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace vostok::cache {

/// A failed trial bans its machine code: it stays, however old or stale, until bans are lifted.
struct PruneSettings {
  std::optional<std::int64_t> older_than_seconds =
      {};  ///< removes trials measured, and kernels last used, longer ago; winners stay
  std::optional<std::int64_t> max_bytes = {};  ///< of kernels: removes the longest unused until the rest fits
  bool banned = false;  ///< removes winners of machine code that failed anywhere, and its measurements
  bool lift_bans =
      false;           ///< removes failures, and trials skipped because of them, so that the code may be tried again
  bool stale = false;  ///< removes trials whose config has been measured with newer machine code
};

struct Pruned {
  std::int64_t trials = 0;
  std::int64_t winners = 0;
  std::int64_t kernels = 0;
  std::int64_t bytes_before = 0;
  std::int64_t bytes_after = 0;
};

/// Removes rows in one transaction, while others may use the file, and frees their space. Unreadable rows of a
/// tuning.db are removed too. `now` is in Unix seconds. Errors: io_failure.
Pruned prune(const std::filesystem::path& path, const PruneSettings& settings, std::int64_t now);

}  // namespace vostok::cache
