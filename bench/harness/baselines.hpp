// Times that others reached elsewhere, from a CSV file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace vostok::bench {

/// Microseconds per call; absent where that peer did not run the case (-1 in the file).
struct Baseline {
  std::optional<double> sputnik_us = {};
  std::optional<double> cusparse_us = {};
  std::optional<double> cublas_sgemm_us = {};
};

class Baselines {
 public:
  Baselines() = default;
  /// A header line that names set_or_file, m, k, n, sputnik_f32_us, cusparse_f32_us and cublas_sgemm_us, in any order
  /// among others, then a line a case. Errors: invalid_argument naming the column or line.
  static Baselines parse(std::string_view csv);
  /// Errors: io_failure, invalid_argument.
  static Baselines read(const std::filesystem::path& path);

  /// The case of this file and these sizes.
  std::optional<Baseline> find(const std::string& file, std::int64_t m, std::int64_t k, std::int64_t n) const;

 private:
  using Key = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>;
  std::map<Key, Baseline> cases_;
};

}  // namespace vostok::bench
