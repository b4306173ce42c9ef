#include "cli/run_report.hpp"
#include "cli/json_text.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/layout.hpp"

namespace vostok::cli {

namespace {

using nlohmann::ordered_json;

/// Notes on what a user may not expect of the matrix: values that are or will become non-finite, and earlier notes.
std::vector<std::string> notes_of(const MatrixReport& matrix) {
  std::vector<std::string> notes = matrix.notes;
  if (!matrix.values) return notes;
  const sparse::ValueFacts& facts = *matrix.values;
  if (facts.nans + facts.infinities > 0)
    notes.push_back(fmt::format("{} of its {} values are not finite ({} NaN, {} infinite): so is what they make",
                                facts.nans + facts.infinities, facts.count, facts.nans, facts.infinities));
  if (facts.overflows > 0)
    notes.push_back(fmt::format("{} values exceed {}'s range and become infinite (the largest is {:.6g})",
                                facts.overflows, name(matrix.value_type), facts.largest));
  return notes;
}

std::string matrix_text(const MatrixReport& matrix) {
  std::string notes;
  for (const std::string& note : notes_of(matrix)) notes += line("", "note: " + note);
  const TopologyStatistics& of = matrix.statistics;
  return line("matrix", matrix.source) +
         line("",
              fmt::format("{} x {}, {} nonzeros, {:.2f} % zeros, {:.1f} a row (longest {}), row CoV {:.3f}", of.rows,
                          of.cols, of.nonzeros, 100 * of.sparsity(), of.mean_row, of.longest_row, of.row_variation)) +
         (matrix.note.empty() ? "" : line("", matrix.note)) + notes;
}

/// Adds facts for programs to act on: counts, and any sentences.
void add_matrix_notes(ordered_json& object, const MatrixReport& matrix) {
  if (matrix.values)
    object.update({{"nonfinite_values", matrix.values->nans + matrix.values->infinities},
                   {"overflowing_values", matrix.values->overflows}});
  if (const auto notes = notes_of(matrix); !notes.empty()) object["notes"] = notes;
}

std::string choice_text(const char* label, const std::string& chosen, const Explanation& choice) {
  if (choice.family.empty()) return line(label, choice.note);
  std::string provenance = name(choice.provenance);
  if (!choice.note.empty()) provenance += ": " + choice.note;
  if (choice.speedup_over_default)
    provenance += fmt::format(", {:.2f}x the default config's speed", *choice.speedup_over_default);
  std::string text =
      line(label, chosen) + line("config", wrapped(to_text(choice.config))) + line("provenance", provenance);
  if (choice.is_slow && choice.bound_us)
    text += line("slow",
                 fmt::format("more than twice 3 us and what memory or the dense product ask for ({:.2f} us): tune it",
                             *choice.bound_us));
  return text;
}

std::string explanation_text(const Explanation& explanation) {
  if (explanation.steps.empty()) return choice_text("family", explanation.family, explanation);
  std::string text = line("family", fmt::format("{} of {} steps", explanation.family, explanation.steps.size()));
  const auto of_step = [](const Explanation& step) { return fmt::format("{} {}", step.operation, step.family); };
  for (std::size_t i = 0; i < explanation.steps.size(); ++i)
    text += choice_text(fmt::format("step {}", i + 1).c_str(), of_step(explanation.steps[i]), explanation.steps[i]);
  return text;
}

std::string device_text(const DeviceInfo& device) {
  if (!device.gpu) return line("device", fmt::format("{}: for correctness, not speed", device.name));
  return line("device", fmt::format("{}, {}, {} multiprocessors, driver {}", device.name, device.architecture,
                                    device.multiprocessors, device.driver));
}

std::string preparation_text(const RunReport& report) {
  std::string kernels = fmt::format("{} compiled by this process", report.compiled);
  if (report.compiled > 0) kernels += fmt::format(", {:.1f} ms of compiling over all threads", report.compile_ms);
  std::string plan = fmt::format("{:.1f} ms, compiling and tuning included", report.plan_ms);
  if (report.matrix) plan += fmt::format("; topology {:.1f} ms", report.matrix->topology_ms);
  return line("kernels", kernels) + line("plan", plan);
}

std::string packing_text(const PackingReport& packing) {
  return line("packed", fmt::format("{}, {} bytes; packing takes {:.2f} us, spread {:.2f} us", packing.format,
                                    packing.bytes, packing.timing.single.median_us, packing.timing.single.spread_us));
}

std::string speed_text(const RunReport& report) {
  if (!report.timing) return line("median", "not measured: nothing is launched");
  const auto& [single, launches, replays] = *report.timing;
  std::string speed = fmt::format("{:.4g} GFLOP/s ({})", report.gflops().value_or(0), report.subject.work);
  if (report.device.peak_fp32_gflops > 0)
    speed += fmt::format(", {:.2f} % of the device's fp32 peak",
                         100 * report.gflops().value_or(0) / report.device.peak_fp32_gflops);
  return line("median", fmt::format("{:.2f} us, spread {:.2f} us ({} replays of {} launches)", single.median_us,
                                    single.spread_us, replays, launches)) +
         line("speed", speed);
}

/// Null for NaN and infinity, which JSON lacks.
ordered_json number(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

ordered_json choice_json(const Explanation& choice) {
  return {{"family", choice.family}, {"config", choice.config}, {"provenance", name(choice.provenance)}};
}

}  // namespace

bool RunReport::launches() const {
  const auto chosen = [](const Explanation& choice) { return !choice.family.empty(); };
  if (explanation.steps.empty()) return chosen(explanation);
  return std::any_of(explanation.steps.begin(), explanation.steps.end(), chosen);
}

std::optional<double> RunReport::gflops() const {
  if (!timing || !(timing->single.median_us > 0)) return std::nullopt;
  return flops / (timing->single.median_us * 1e3);
}

std::string report_text(const RunReport& report) {
  return (report.matrix ? matrix_text(*report.matrix) : "") + line("problem", report.subject.problem) +
         device_text(report.device) + explanation_text(report.explanation) + preparation_text(report) +
         (report.packing ? packing_text(*report.packing) : "") + speed_text(report) +
         line("error",
              fmt::format("{:.2e} against float64, tolerance {:.2e}", report.check.error, report.check.tolerance)) +
         (report.verified() ? "VERIFIED\n" : fmt::format("WRONG: {}\n", report.check.wrong));
}

std::string report_json(const RunReport& report) {
  const auto timing = [&](double tune::Summary::* field) {
    return report.timing ? std::optional(report.timing->single.*field) : std::nullopt;
  };
  ordered_json object = {{"operation", report.operation}, {"device", report.device.name}, {"gpu", report.device.gpu}};
  object.update(choice_json(report.explanation));
  object.update({{"compiled", report.compiled},
                 {"plan_ms", number(report.plan_ms)},
                 {"median_us", number(timing(&tune::Summary::median_us))},
                 {"spread_us", number(timing(&tune::Summary::spread_us))},
                 {"gflops", number(report.gflops())},
                 {"error", number(report.check.error)},
                 {"tolerance", number(report.check.tolerance)},
                 {"verified", report.verified()}});
  if (report.packing)
    object.update({{"packed_format", report.packing->format},
                   {"packed_bytes", report.packing->bytes},
                   {"pack_us", number(report.packing->timing.single.median_us)}});
  for (const Field& field : report.subject.fields)
    std::visit([&](const auto& value) { object[field.name] = value; }, field.value);
  if (report.matrix) add_matrix_notes(object, *report.matrix);
  for (const Explanation& step : report.explanation.steps) {
    ordered_json described = {{"operation", step.operation}};
    described.update(choice_json(step));
    object["steps"].push_back(std::move(described));
  }
  // A file name that is not UTF-8 must not stop a report.
  return json_text(object, one_line);
}

}  // namespace vostok::cli
