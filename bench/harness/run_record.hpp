// The JSON file of one run: what ran, on what, and its rows. The schema is bench/results/README.md.
#pragma once

#include <chrono>
#include <string>

#include <vostok/context.hpp>

#include "bench/harness/json.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/problems.hpp"

namespace vostok::bench {

class RunRecord {
 public:
  RunRecord(const std::string& benchmark, const RunOptions& options, const Context& context);

  void add_row(Json row) { rows_.push_back(std::move(row)); }
  /// A row, and a line on stdout, of a problem whose plan launches nothing: no entries, no columns.
  void add_nothing_to_compute(const Problem& problem);
  /// A field of the whole run, e.g. "summary"; replaces what was there.
  void set(const std::string& field, Json value) { facts_[field] = std::move(value); }
  /// Notes the template that a kernel came from, with its revision.
  void note_template(const std::string& header);

  /// Writes the file, if the options name one: beside it, then renamed, so that it is whole at every moment.
  /// `complete`: no more rows will come. Errors: io_failure.
  void write(bool complete);

 private:
  RunOptions options_;
  Context context_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Json facts_;
  Json rows_ = Json::array();
};

/// Of every file; what it counts is in bench/results/README.md.
inline constexpr int record_schema = 3;
/// "2026-11-20T12:00:00Z"
std::string utc_now();
/// What the options say, or what this was built from.
std::string commit_of(const RunOptions& options);

/// Without a GPU or its driver's kernel module: empty. Of "NVRM version: ... Kernel Module  580.159.04  ...".
std::string parse_driver_version(const std::string& text);

}  // namespace vostok::bench
