// Appends what a program plans to a problem file (VOSTOK_CAPTURE), so that `vostok tune`, `vostok pack` and `vostok
// doctor` know it.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include <vostok/topology.hpp>

#include "base/log.hpp"

namespace vostok::plan {

class Capture {
 public:
  Capture(const std::filesystem::path& file, std::shared_ptr<Logger> logger);

  /// Adds a planned problem (plan/problem_line.hpp), restricted to `family` if that is not empty. Masks whose features
  /// share a bucket are added once. The mask's structure is saved beside the file, in FILE.matrices/DIGEST.smtx. A line
  /// that the file already has is not added again. A failed write logs one warning.
  void add(const std::string& line, const std::string& family, const Topology& topology) noexcept;

 private:
  void write(const std::string& line, const Topology& topology) const;
  std::string saved_matrix(const Topology& topology) const;

  std::filesystem::path file_;
  std::shared_ptr<Logger> logger_;
  std::mutex mutex_;
  std::set<std::string> seen_;
};

}  // namespace vostok::plan
