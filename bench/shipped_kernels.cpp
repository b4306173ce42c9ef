// Compiles what tuned choices launch, and records registers, spills and instructions. So a change of the templates is
// held against a record made before it, without a GPU.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "bench/harness/cubin.hpp"
#include "bench/harness/json.hpp"
#include "bench/harness/kernel_changes.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/progress.hpp"
#include "bench/harness/run_record.hpp"
#include "cache/tuning_content.hpp"
#include "codegen/fields.hpp"
#include "compile/sweep_jobs.hpp"
#include "ops/topology/packed_format.hpp"
#include "plan/features.hpp"
#include "plan/predicted_choice.hpp"
#include "plan/task_text.hpp"

namespace vostok::bench {
namespace {

struct ShippedOptions : CompileOptions {
  std::filesystem::path choices = "cache/shipped/nvidia-h200.tuning.txt";
  std::filesystem::path compare = {};  ///< empty: nothing to compare with
};

/// What choices launch, each kernel once, whichever choice came first.
class ChosenKernels {
 public:
  explicit ChosenKernels(const ShippedOptions& options) {
    for (const cache::WinnerRow& row : cache::read_content(options.choices).winners)
      if (options.families.empty() ||
          std::count(options.families.begin(), options.families.end(), row.winner.family) > 0)
        add(row);
    if (choices_ == 0)
      fail(ErrorCode::invalid_argument, "cannot compile what is chosen: {} has no choice of such a family",
           options.choices.string());
  }

  std::size_t choices() const { return choices_; }
  const std::vector<test::Job>& jobs() const { return jobs_.list(); }
  /// The operation of the choice that first needed a job, by the job's place.
  const std::string& operation(std::size_t job) const { return operations_[job]; }

 private:
  void add(const cache::WinnerRow& row) {
    const auto query = plan::query_of(row.problem, device_of(row.device));
    const ops::Family* const family = ops::find_family(row.problem.operation, row.winner.family);
    if (!query || family == nullptr) fail_choice(row, "this version does not know its fields or its family");
    const auto config = family->read(row.winner.config);
    if (!config) fail_choice(row, "a value is not understood");
    if (const auto reason = family->forbidden(*query, *config)) fail_choice(row, *reason);
    for (const ops::Launch& launch : family->launches(*query, *config, {})) add(row, launch);
    if (const std::string format = family->packed_format(*query, *config); !format.empty())
      add(row, ops::find_packed_format(format)->pack_launch({.element = element_of(row)}));
    ++choices_;
  }

  void add(const cache::WinnerRow& row, const ops::Launch& launch) {
    if (jobs_.add(launch.request(), row.device.architecture, false)) operations_.push_back(row.problem.operation);
  }

  /// The GPU on which a choice was measured: how a family cuts a problem depends on it.
  const device::Device& device_of(const plan::DeviceKey& key) {
    const std::string fields = to_text(FieldMap{{"architecture", key.architecture},
                                                {"name", key.name},
                                                {"multiprocessors", std::to_string(key.multiprocessors)},
                                                {"memory_bytes", std::to_string(key.memory_bytes)},
                                                {"l2_bytes", std::to_string(key.l2_bytes)}});
    auto& device = devices_[fields];
    if (!device) device = device::open_compile_only(fields, {});
    return *device;
  }

  static Dtype element_of(const cache::WinnerRow& row) {
    const auto text = plan::text_of(row.problem);
    const auto element = text && text->problem.contains("element")
                             ? codegen::parse_value<Dtype>(text->problem.at("element"))
                             : std::nullopt;
    if (!element) fail_choice(row, "its values have no type");
    return *element;
  }

  [[noreturn]] static void fail_choice(const cache::WinnerRow& row, const std::string& reason) {
    fail(ErrorCode::invalid_argument, "cannot compile the choice {} of {}: {}", row.winner.family,
         plan::key_words(row.problem), reason);
  }

  std::map<std::string, std::shared_ptr<device::Device>> devices_;
  test::Jobs jobs_;
  std::vector<std::string> operations_;
  std::size_t choices_ = 0;
};

Json row_of(const test::Job& job, const std::string& operation, const std::string& code) {
  return {{"operation", operation},
          {"family", job.request.family},
          {"header", job.request.header},
          {"architecture", job.architecture + job.request.features},
          {"expression", job.request.expression},
          {"code", code}};
}

void note_figures(Json& row, const device::Image& image) {
  row["instructions"] = machine_instructions(image.binary);
  row["registers"] = image.registers;
  row["spill_bytes"] = image.spill_bytes;
  row["stack_bytes"] = image.stack_bytes;
  row["static_shared_bytes"] = image.static_shared_bytes;
  if (!image.warnings.empty()) row["warnings"] = image.warnings;
}

void note(Json& row, const test::Outcome& outcome) {
  std::string failure = outcome.failure;
  try {
    if (failure.empty()) note_figures(row, outcome.image);
  } catch (const Error& error) {
    failure = error.what();  // thrown on, it would end the program: this is a thread of its own
  }
  if (!failure.empty()) row["failure"] = failure;
  row["seconds"] = number(outcome.seconds);
}

/// What all rows come to.
struct Totals {
  std::size_t failed = 0;
  std::size_t spilling = 0;
  std::int64_t most_spill_bytes = 0;
  int most_registers = 0;
  std::int64_t instructions = 0;
  double seconds = 0;

  explicit Totals(const Json& rows) {
    for (const Json& row : rows) {
      if (row.contains("failure")) {
        ++failed;
        continue;
      }
      const auto spill_bytes = row["spill_bytes"].get<std::int64_t>();
      if (spill_bytes > 0) ++spilling;
      most_spill_bytes = std::max(most_spill_bytes, spill_bytes);
      most_registers = std::max(most_registers, row["registers"].get<int>());
      instructions += row["instructions"].get<std::int64_t>();
      seconds += row["seconds"].get<double>();
    }
  }

  Json json() const {
    return {{"failed", failed},
            {"spilling", spilling},
            {"most_spill_bytes", most_spill_bytes},
            {"most_registers", most_registers},
            {"instructions", instructions},
            {"compile_seconds", number(seconds)}};
  }
};

class ShippedKernels {
 public:
  explicit ShippedKernels(const ShippedOptions& options)
      : options_(options), nvrtc_(device::open_nvrtc(std::nullopt)), kernels_(options), rows_(kernels_.jobs().size()) {
    const std::map<std::string, Json> before = compiled_before(options.out);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const test::Job& job = kernels_.jobs()[i];
      const std::string code = codegen::code_key(job.request, job.architecture, nvrtc_->options(), nvrtc_->identity());
      const auto found = before.find(code);
      if (found != before.end()) {
        rows_[i] = found->second;
        continue;
      }
      rows_[i] = row_of(job, kernels_.operation(i), code);
      left_.push_back(job);
      places_.push_back(i);
    }
  }

  /// The kernels that failed and those not reached.
  std::size_t run() {
    constexpr double pause_seconds = 2;
    Progress progress(left_.size(), options_.deadline_seconds, pause_seconds);
    double written_seconds = 0;
    test::compile_jobs(*nvrtc_, left_, options_.threads, [&](const test::Job& job, const test::Outcome& outcome) {
      progress.start(fmt::format("{} took {:.1f} s", job.request.family, outcome.seconds));
      note(rows_[places_[static_cast<std::size_t>(&job - left_.data())]], outcome);
      constexpr double write_pause_seconds = 10;
      if (progress.elapsed_seconds() - written_seconds > write_pause_seconds) {
        write();
        written_seconds = progress.elapsed_seconds();
      }
      return !progress.out_of_time();
    });
    write();
    const Json rows = compiled();
    const Totals totals(rows);
    std::fputs(fmt::format("{} choices launch {} kernels: {} compiled in {} of one thread, {} failed, {} spill (most "
                           "{} bytes), most registers {}, {} instructions in all\n",
                           kernels_.choices(), rows_.size(), rows.size(), duration_text(totals.seconds), totals.failed,
                           totals.spilling, totals.most_spill_bytes, totals.most_registers, totals.instructions)
                   .c_str(),
               stdout);
    return totals.failed + rows_.size() - rows.size();
  }

  /// Whether every kernel of every choice was reached.
  bool whole() const { return options_.families.empty() && compiled().size() == rows_.size(); }

  /// The rows of kernels that were compiled, or failed to.
  Json compiled() const {
    Json rows = Json::array();
    for (const Json& row : rows_)
      if (row.contains("registers") || row.contains("failure")) rows.push_back(row);
    return rows;
  }

 private:
  void write() const {
    if (options_.out.empty()) return;
    const Json rows = compiled();
    Json summary = {{"choices", kernels_.choices()}, {"kernels", rows_.size()}};
    summary.update(Totals(rows).json());
    Json record = record_head("shipped_kernels", options_, rows.size() == rows_.size());
    record.update(Json{{"compiler", nvrtc_->identity()},
                       {"choices", options_.choices.filename().string()},
                       {"families", options_.families},
                       {"summary", summary},
                       {"rows", rows}});
    write_json(options_.out, record);
  }

  ShippedOptions options_;
  std::shared_ptr<const device::Compiler> nvrtc_;
  ChosenKernels kernels_;
  std::vector<Json> rows_;           ///< one for each job; figures where it is done
  std::vector<test::Job> left_;      ///< to compile now
  std::vector<std::size_t> places_;  ///< of their rows
};

/// Prints what differs from an earlier record, and how many kernels that are.
std::size_t print_changes(const Json& earlier, const ShippedKernels& kernels) {
  const std::vector<std::string> changes = kernel_changes(earlier.at("rows"), kernels.compiled(), kernels.whole());
  for (const std::string& change : changes) std::puts(change.c_str());
  std::fputs(
      fmt::format("{} kernels differ from those of {}\n", changes.size(), earlier.value("commit", "that file")).c_str(),
      stdout);
  return changes.size();
}

int compile_and_compare(const ShippedOptions& options) {
  // Read first: the file may be the one that is written.
  const Json earlier = options.compare.empty() ? Json() : Json::parse(read_text(options.compare));
  ShippedKernels kernels(options);
  const std::size_t bad = kernels.run();
  const std::size_t changed = earlier.is_null() ? 0 : print_changes(earlier, kernels);
  return bad + changed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace vostok::bench

int main(int argc, char** argv) {
  using namespace vostok::bench;
  ShippedOptions options;
  CLI::App app(
      "Compiles the kernels of tuned choices with NVRTC and records registers, spilled bytes, shared memory and "
      "machine instructions of each. No GPU. To see what a change does: record with --out before it, and run with "
      "--compare of that file after it. Kernels that the file of --out has of the same code are not compiled again. "
      "The exit status "
      "is 0 when all were compiled and none differs.",
      "bench_shipped_kernels");
  app.add_option("--choices", options.choices, "Tuned choices: a tuning.db, or a text of vostok cache dump")
      ->capture_default_str();
  app.add_option("--compare", options.compare, "JSON file of an earlier run: print what differs from it")
      ->check(CLI::ExistingFile);
  add_options(app, options);
  return run_program(app, argc, argv, options, [&] { return compile_and_compare(options); });
}
