#include "cli/spmm_report.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/layout.hpp"

namespace vostok::cli {

namespace {

std::string matrix_text(const SpmmReport& report) {
  const TopologyStatistics& of = report.statistics;
  return line("matrix", report.matrix) +
         line("", fmt::format("{} x {}, {} nonzeros, {:.2f} % zeros, {:.1f} a row (longest {}), row CoV {:.3f}", of.rows, of.cols, of.nonzeros,
                              100 * of.sparsity(), of.mean_row, of.longest_row, of.row_variation)) +
         (report.note.empty() ? "" : line("", report.note));
}

std::string problem_text(const SpmmReport& report) {
  const Spmm& problem = report.problem;
  const TopologyStatistics& of = report.statistics;
  std::string text = fmt::format("C[{},{}] = A[{},{}] B[{},{}], {}, math {}", of.rows, problem.n, of.rows, of.cols, of.cols, problem.n,
                                 name(problem.element), name(problem.math));
  if (problem.epilogue.scale != Scale::one) text += fmt::format(", scale {}", report.scale);
  if (problem.epilogue.bias != Bias::none) text += fmt::format(", bias {}", name(problem.epilogue.bias));
  if (problem.epilogue.activation != Activation::none) text += fmt::format(", {}", name(problem.epilogue.activation));
  return line("problem", text);
}

std::string choice_text(const Explanation& explanation) {
  if (explanation.family.empty()) return line("family", explanation.note);
  std::string provenance = name(explanation.provenance);
  if (!explanation.note.empty()) provenance += ": " + explanation.note;
  if (explanation.speedup_over_default) provenance += fmt::format(", {:.2f}x the default config's speed", *explanation.speedup_over_default);
  return line("family", explanation.family) + line("config", wrapped(to_text(explanation.config))) + line("provenance", provenance);
}

std::string device_text(const DeviceInfo& device) {
  if (!device.gpu) return line("device", fmt::format("{}: for correctness, not speed", device.name));
  return line("device",
              fmt::format("{}, {}, {} multiprocessors, driver {}", device.name, device.architecture, device.multiprocessors, device.driver));
}

std::string preparation_text(const SpmmReport& report) {
  std::string kernels = fmt::format("{} compiled by this process", report.compiled);
  if (report.compiled > 0) kernels += fmt::format(", {:.1f} ms of compiling over all threads", report.compile_ms);
  return line("kernels", kernels) +
         line("plan", fmt::format("{:.1f} ms, compiling and tuning included; topology {:.1f} ms", report.plan_ms, report.topology_ms));
}

std::string speed_text(const SpmmReport& report) {
  if (!report.timing) return line("median", "not measured: nothing is launched");
  const auto& [single, launches, replays] = *report.timing;
  std::string speed = fmt::format("{:.4g} GFLOP/s (2 x nonzeros x n)", report.gflops().value_or(0));
  if (report.device.peak_fp32_gflops > 0)
    speed += fmt::format(", {:.2f} % of the device's fp32 peak", 100 * report.gflops().value_or(0) / report.device.peak_fp32_gflops);
  return line("median",
              fmt::format("{:.2f} us, spread {:.2f} us ({} replays of {} launches)", single.median_us, single.spread_us, replays, launches)) +
         line("speed", speed);
}

/// JSON has neither NaN nor infinity.
nlohmann::ordered_json number(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

}  // namespace

std::optional<double> SpmmReport::gflops() const {
  if (!timing || !(timing->single.median_us > 0)) return std::nullopt;
  return flops / (timing->single.median_us * 1e3);
}

std::string report_text(const SpmmReport& report) {
  return matrix_text(report) + problem_text(report) + device_text(report.device) + choice_text(report.explanation) + preparation_text(report) +
         speed_text(report) + line("error", fmt::format("{:.2e} against float64, tolerance {:.2e}", report.check.error, report.check.tolerance)) +
         (report.verified() ? "VERIFIED\n" : fmt::format("WRONG: {}\n", report.check.wrong));
}

std::string report_json(const SpmmReport& report) {
  const auto timing = [&](double tune::Summary::* field) { return report.timing ? std::optional(report.timing->single.*field) : std::nullopt; };
  const nlohmann::ordered_json object = {{"device", report.device.name},
                                         {"gpu", report.device.gpu},
                                         {"family", report.explanation.family},
                                         {"config", report.explanation.config},
                                         {"provenance", name(report.explanation.provenance)},
                                         {"compiled", report.compiled},
                                         {"plan_ms", number(report.plan_ms)},
                                         {"median_us", number(timing(&tune::Summary::median_us))},
                                         {"spread_us", number(timing(&tune::Summary::spread_us))},
                                         {"gflops", number(report.gflops())},
                                         {"error", number(report.check.error)},
                                         {"verified", report.verified()},
                                         {"m", report.statistics.rows},
                                         {"k", report.statistics.cols},
                                         {"n", report.problem.n},
                                         {"nonzeros", report.statistics.nonzeros}};
  // A file name that is not UTF-8 must not stop a report.
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace vostok::cli
