// Summarises the content of one cache file, and checks all of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cache/schema.hpp"
#include "cache/signature.hpp"

namespace vostok::cache {

struct FileSummary {
  std::filesystem::path path;
  Content content = Content::tuning;
  std::int64_t bytes = 0;
  std::int64_t devices = 0;  ///< this and the next four are of a tuning.db
  std::int64_t problems = 0;
  std::int64_t winners = 0;
  std::int64_t trials = 0;
  std::int64_t errata = 0;
  std::int64_t kernels = 0;              ///< of a code.db
  std::optional<PublicKey> signer = {};  ///< by FILE.sig, unchecked
};

/// Errors: io_failure (no such file, not a cache file, malformed, of a newer schema).
FileSummary summarise(const std::filesystem::path& path);

/// Every fault of the file, one sentence each: damage that SQLite finds, rows that cannot be read or refer to nothing,
/// kernels whose digest does not match and, if keys are given, a bad signature. Empty: none. A file that cannot be
/// opened has one fault.
std::vector<std::string> faults_of(const std::filesystem::path& path, const std::vector<PublicKey>& trusted);

}  // namespace vostok::cache
