// Appends what a program plans to a problem file (VOSTOK_CAPTURE), so that `vostok tune`, `vostok pack` and `vostok doctor` know it.
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

  /// A problem (plan/problem_line.hpp) that was planned, restricted to a family where one is named. Once for masks whose features share a bucket.
  /// The mask's structure is saved beside the file, in FILE.matrices/DIGEST.smtx. A line that the file has is not added again. What cannot be
  /// written is one warning.
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
