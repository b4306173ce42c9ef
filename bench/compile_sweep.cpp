// The whole space of every family, compiled for the architectures that it runs on: what fails, spills, is serialised,
// and how many registers kernels take. NVRTC alone: no GPU, no driver. Goes on where the run before it stopped.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/digest.hpp"
#include "base/text.hpp"
#include "bench/harness/json.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/progress.hpp"
#include "bench/harness/run_record.hpp"
#include "compile/sweep_jobs.hpp"

namespace vostok::bench {
namespace {

struct SweepOptions : CompileOptions {
  std::vector<std::string> architectures = {};  ///< empty: all that NVRTC knows
  int sample = 0;                               ///< of configs for each family and architecture; 0: all
};

/// One family for one architecture: the unit of the report, and of what is done again when kernels changed.
struct Shard {
  std::string operation;
  std::string family;
  std::string architecture;
  std::size_t configs = 0;
  std::vector<test::Job> jobs = {};

  std::string title() const { return fmt::format("{} {} {}", operation, family, architecture); }
  /// Of everything that decides machine code: another one starts the shard anew.
  std::string digest(const device::Compiler& nvrtc) const {
    Digest digest;
    for (const test::Job& job : jobs)
      digest.add(codegen::code_key(job.request, job.architecture, nvrtc.options(), nvrtc.identity()));
    return digest.hex();
  }
};

bool chosen(const std::vector<std::string>& names, std::string_view name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<Shard> make_shards(const SweepOptions& options, const device::Compiler& nvrtc) {
  constexpr std::uint64_t seed = 1;
  std::vector<Shard> shards;
  for (const std::string_view operation : ops::operations()) {
    for (const auto& family : ops::families(operation)) {
      if (!chosen(options.families, family->name())) continue;
      const std::vector<test::Space> spaces = test::spaces_of(*family, test::sweep_queries().at(operation)());
      for (const std::string& architecture : device::nvrtc_architectures(nvrtc)) {
        if (!chosen(options.architectures, architecture) || !family->runs_on(architecture)) continue;
        test::Jobs jobs;
        jobs.add_defaults(*family, spaces, architecture);
        if (options.sample > 0) jobs.add_sample(*family, spaces, architecture, options.sample, seed);
        else jobs.add_everything(*family, spaces, architecture);
        Shard shard{.operation = std::string(operation),
                    .family = std::string(family->name()),
                    .architecture = architecture,
                    .jobs = jobs.list()};
        for (const test::Space& space : spaces) shard.configs += space.configs.size();
        shards.push_back(std::move(shard));
      }
    }
  }
  if (shards.empty())
    fail(ErrorCode::invalid_argument, "cannot sweep: no family of --families runs on one of --architectures");
  return shards;
}

/// What came of a shard's kernels, as the record has it: a run that goes on adds to it.
Json new_row(const Shard& shard, const std::string& digest) {
  return {{"operation", shard.operation},
          {"family", shard.family},
          {"architecture", shard.architecture},
          {"digest", digest},
          {"configs", shard.configs},
          {"kernels", shard.jobs.size()},
          {"done", 0},
          {"failed", 0},
          {"first_failure", nullptr},
          {"spilling", 0},
          {"most_spill_bytes", 0},
          {"spilling_defaults", 0},
          {"serialised", 0},
          {"warnings", Json::object()},
          {"registers", Json::object()},
          {"seconds", 0.0}};
}

void count(Json& counter, std::int64_t more = 1) { counter = counter.get<std::int64_t>() + more; }

/// What the report needs of an image, without its code.
struct Result {
  int registers = 0;
  std::int64_t spill_bytes = 0;
  std::vector<std::string> warnings = {};
  std::string failure = {};
};

void note(Json& row, const test::Job& job, const Result& image) {
  if (!image.failure.empty()) {
    count(row["failed"]);
    if (row["first_failure"].is_null()) row["first_failure"] = job.request.expression + ": " + image.failure;
    return;
  }
  if (image.spill_bytes > 0) {
    count(row["spilling"]);
    if (job.is_default) count(row["spilling_defaults"]);
    row["most_spill_bytes"] = std::max(row["most_spill_bytes"].get<std::int64_t>(), image.spill_bytes);
  }
  if (!image.warnings.empty()) {
    count(row["serialised"]);
    const std::string code = image.warnings.front().substr(0, image.warnings.front().find(':'));
    row["warnings"][code] = row["warnings"].value(code, 0) + 1;
  }
  const std::string registers = std::to_string(image.registers);
  row["registers"][registers] = row["registers"].value(registers, 0) + 1;
}

/// Least, median and most of {registers: kernels}.
std::string registers_text(const Json& registers) {
  std::vector<int> all;
  for (const auto& [value, kernels] : registers.items())
    all.insert(all.end(), kernels.get<std::size_t>(), std::stoi(value));
  if (all.empty()) return "-";
  std::sort(all.begin(), all.end());
  return fmt::format("{} / {} / {}", all.front(), all[all.size() / 2], all.back());
}

class Sweep {
 public:
  explicit Sweep(const SweepOptions& options)
      : options_(options),
        nvrtc_(device::open_nvrtc(std::nullopt)),
        shards_(make_shards(options, *nvrtc_)),
        progress_(jobs_in_all(), options.deadline_seconds) {
    if (!options_.out.empty() && std::filesystem::exists(options_.out))
      earlier_ = Json::parse(read_text(options_.out)).at("rows");
    for (const Shard& shard : shards_) rows_.push_back(resumed(shard));
  }

  /// The kernels that failed, default kernels that spill, and those not reached.
  std::size_t run() {
    for (std::size_t i = 0; i < shards_.size() && !progress_.out_of_time(); ++i) compile(shards_[i], rows_[i]);
    write();
    std::fputs(table().c_str(), stdout);
    std::size_t bad = 0;
    for (const Json& row : rows_)
      bad += row["failed"].get<std::size_t>() + row["spilling_defaults"].get<std::size_t>() +
             row["kernels"].get<std::size_t>() - row["done"].get<std::size_t>();
    return bad;
  }

 private:
  std::size_t jobs_in_all() const {
    std::size_t all = 0;
    for (const Shard& shard : shards_) all += shard.jobs.size();
    return all;
  }

  Json resumed(const Shard& shard) const {
    const std::string digest = shard.digest(*nvrtc_);
    for (const Json& row : earlier_)
      if (row.value("digest", "") == digest && row.value("architecture", "") == shard.architecture &&
          row.value("family", "") == shard.family)
        return row;
    return new_row(shard, digest);
  }

  void compile(const Shard& shard, Json& row) {
    const std::span<const test::Job> left = std::span(shard.jobs).subspan(row["done"].get<std::size_t>());
    const double before_seconds = row["seconds"].get<double>(), start_seconds = progress_.elapsed_seconds();
    // Jobs end in another order than they began: what is behind the first that is not done is done again by the next
    // run.
    std::vector<std::optional<Result>> results(left.size());
    std::size_t whole = 0;
    test::compile_jobs(*nvrtc_, left, options_.threads, [&](const test::Job& job, const test::Outcome& outcome) {
      const device::Image& image = outcome.image;
      results[static_cast<std::size_t>(&job - left.data())] = {image.registers, image.spill_bytes, image.warnings,
                                                               outcome.failure};
      for (; whole < results.size() && results[whole]; ++whole, ++done_) {
        note(row, left[whole], *results[whole]);
        results[whole] = Result();
        count(row["done"]);
      }
      row["seconds"] = number(before_seconds + progress_.elapsed_seconds() - start_seconds);
      say(shard, row);
      return !progress_.out_of_time();
    });
  }

  /// On stderr and into the file, every two seconds.
  void say(const Shard& shard, const Json& row) {
    constexpr double pause_seconds = 2;
    if (progress_.elapsed_seconds() - said_seconds_ < pause_seconds) return;
    said_seconds_ = progress_.elapsed_seconds();
    std::size_t left = 0;
    for (const Json& each : rows_) left += each["kernels"].get<std::size_t>() - each["done"].get<std::size_t>();
    const double left_seconds = done_ == 0 ? 0 : said_seconds_ / static_cast<double>(done_) * static_cast<double>(left);
    std::fputs(fmt::format("[{} kernels left, about {}] {}: {} of {}\n", left, duration_text(left_seconds),
                           shard.title(), row["done"].dump(), row["kernels"].dump())
                   .c_str(),
               stderr);
    write();
  }

  void write() {
    if (options_.out.empty()) return;
    const bool complete =
        std::all_of(rows_.begin(), rows_.end(), [](const Json& row) { return row["done"] == row["kernels"]; });
    Json record = record_head("compile_sweep", options_, complete);
    record.update(Json{{"compiler", nvrtc_->identity()}, {"sample", options_.sample}, {"rows", rows_}});
    write_json(options_.out, record);
  }

  std::string table() const {
    std::string text =
        "\n| family | architecture | configs | kernels | failed | spill | C75xx | registers, least / median / most |\n";
    text += "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n";
    for (const Json& row : rows_) {
      const std::string kernels = row["done"] == row["kernels"]
                                      ? row["kernels"].dump()
                                      : fmt::format("{} of {}", row["done"].dump(), row["kernels"].dump());
      text += fmt::format("| {} {} | {} | {} | {} | {} | {} | {} | {} |\n", row["operation"].get<std::string>(),
                          row["family"].get<std::string>(), row["architecture"].get<std::string>(),
                          row["configs"].dump(), kernels, row["failed"].dump(), row["spilling"].dump(),
                          row["serialised"].dump(), registers_text(row["registers"]));
    }
    for (const Json& row : rows_)
      if (!row["first_failure"].is_null())
        text += fmt::format("\n{} {}: {}\n", row["family"].get<std::string>(), row["architecture"].get<std::string>(),
                            row["first_failure"].get<std::string>());
    return text;
  }

  SweepOptions options_;
  std::shared_ptr<const device::Compiler> nvrtc_;
  std::vector<Shard> shards_;
  Progress progress_;
  Json earlier_ = Json::array();
  std::vector<Json> rows_;
  std::size_t done_ = 0;  ///< by this run
  double said_seconds_ = 0;
};

}  // namespace
}  // namespace vostok::bench

int main(int argc, char** argv) {
  using namespace vostok::bench;
  SweepOptions options;
  CLI::App app(
      "Compiles every kernel of every family's space with NVRTC. No GPU. Goes on from the file of --out where that has "
      "kernels of the same code. "
      "The exit status is 0 when nothing failed, no default config spills and all were reached.",
      "bench_compile_sweep");
  app.add_option("--architectures", options.architectures, "Only these, e.g. sm_80,sm_90,sm_90a")->delimiter(',');
  app.add_option("--sample", options.sample,
                 "Instead of everything, that many seeded configs of each family and architecture")
      ->check(CLI::NonNegativeNumber);
  add_options(app, options);
  return run_program(app, argc, argv, options, [&] { return Sweep(options).run() == 0 ? 0 : 1; });
}
