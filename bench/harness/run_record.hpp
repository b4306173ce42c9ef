// The JSON file of one run: the program, its environment and its rows. The schema is bench/results/README.md.
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
  /// Adds a row, and prints a line on stdout, for a problem whose plan launches nothing: no entries, no columns.
  void add_nothing_to_compute(const Problem& problem);
  /// Sets a field of the whole run, e.g. "summary"; replaces a previous value.
  void set(const std::string& field, Json value) { facts_[field] = std::move(value); }
  /// Records the template that a kernel came from, with its revision.
  void note_template(const std::string& header);

  /// Writes the file, if the options name one: beside it, then renamed, so that the file is complete at every moment.
  /// `complete`: no more rows will come. Errors: io_failure.
  void write(bool complete);

 private:
  RunOptions options_;
  Context context_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Json facts_;
  Json rows_ = Json::array();
};

/// Schema number of every file; bench/results/README.md says when it changes.
inline constexpr int record_schema = 3;
/// "2026-11-20T12:00:00Z"
std::string utc_now();
/// The first fields of every file: schema, benchmark, complete, command, date (now) and commit.
Json record_head(const std::string& benchmark, const RunOptions& options, bool complete);
/// The commit of the options, or of this build.
std::string commit_of(const RunOptions& options);

/// Parses "NVRM version: ... Kernel Module  580.159.04  ..."; empty without a GPU or its driver's kernel module.
std::string parse_driver_version(const std::string& text);

}  // namespace vostok::bench
