#include "cli/diagnosis.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/log.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "cli/json_text.hpp"
#include "cli/layout.hpp"

namespace vostok::cli {

namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;
constexpr double mib = 1024.0 * 1024.0;

/// Opens every GPU that the driver lists as usable; the finding of one that cannot be opened says so.
std::vector<DeviceInfo> open_gpus(std::vector<device::Finding>& findings) {
  std::vector<DeviceInfo> gpus;
  int ordinal = 0;
  for (device::Finding& finding : findings) {
    if (finding.what != "device" || !finding.where.starts_with("cuda:")) continue;
    const int this_one = ordinal++;
    if (!finding.used) continue;
    try {
      gpus.push_back(device::open_cuda(this_one, {})->info());
    } catch (const Error& error) {
      finding.used = false;
      finding.state = error.what();
    }
  }
  return gpus;
}

void find_emulator(Diagnosis& diagnosis) {
  try {
    diagnosis.emulator_compiler = device::open_emulator({})->compiler().identity();
  } catch (const Error& error) {
    diagnosis.emulator_problem = error.what();
  }
}

void find_caches(Diagnosis& diagnosis) {
  diagnosis.cache_location = cache::locate({});
  const auto keep = [&](LogLevel level, std::string_view text) {
    if (level == LogLevel::warning) diagnosis.cache_warnings.emplace_back(text);
  };
  cache::Opened opened = cache::open({}, std::make_shared<Logger>(keep), [] {});
  opened.exchange->count_rows(opened.layers);
  diagnosis.layers = std::move(opened.layers);
}

std::string gpu_text(const DeviceInfo& gpu) {
  std::string text =
      line("gpu", fmt::format("{}, {}, {}", gpu.name, gpu.architecture, gpu.uuid)) +
      line("", fmt::format("{} multiprocessors, {} MHz, memory {:.1f} GiB at {} MHz, L2 {:.1f} MiB, driver for CUDA {}",
                           gpu.multiprocessors, gpu.clock_mhz, static_cast<double>(gpu.memory_bytes) / gib,
                           gpu.memory_clock_mhz, static_cast<double>(gpu.l2_bytes) / mib, gpu.driver));
  if (gpu.peak_fp32_gflops > 0)
    text += line("", fmt::format("peak {:.0f} GFLOP/s fp32, {:.0f} GB/s", gpu.peak_fp32_gflops, gpu.peak_bandwidth_gb));
  return text;
}

/// The compiler's identity ends with its flags, which get a line of their own.
std::string emulator_text(const Diagnosis& diagnosis) {
  if (!diagnosis.runs_on_emulator()) return line("emulator", "  " + diagnosis.emulator_problem);
  const std::string& identity = diagnosis.emulator_compiler;
  const std::size_t flags = std::min(identity.find(" -"), identity.size());
  return line("emulator", "* " + identity.substr(0, flags)) +
         (flags < identity.size() ? line("", wrapped(identity.substr(flags + 1))) : "");
}

std::string findings_text(const Diagnosis& diagnosis) {
  std::string text;
  std::string previous;
  for (const device::Finding& finding : diagnosis.findings) {
    const bool same = finding.what == previous;
    text += line(same ? "" : finding.what.c_str(),
                 fmt::format("{} {}: {}", finding.used ? '*' : ' ', finding.where, finding.state));
    previous = finding.what;
  }
  return text;
}

std::string caches_text(const Diagnosis& diagnosis) {
  const cache::Location& location = diagnosis.cache_location;
  std::string text =
      line("cache", location.folder ? fmt::format("{} (from {})", location.folder->string(), location.from)
                                    : fmt::format("in memory only: {}", location.from));
  for (const cache::LayerState& layer : diagnosis.layers) {
    std::string state = fmt::format("{}: {}{}{}", layer.kind, layer.path, layer.path.empty() ? "" : ": ", layer.state);
    if (layer.bytes > 0)
      state += fmt::format(", {} tuning rows, {} kernels, {:.1f} KiB", layer.tuning_rows, layer.code_rows,
                           static_cast<double>(layer.bytes) / 1024);
    text += line("", state);
  }
  for (const std::string& warning : diagnosis.cache_warnings) text += line("", "warning: " + warning);
  return text;
}

std::string variables_text(const Diagnosis& diagnosis) {
  std::string text = "environment     (- where not set)\n";
  for (const EnvironmentVariable& variable : diagnosis.variables)
    text += fmt::format("  {:<22} {:<20} {}\n", variable.name, variable.value.value_or("-"), variable.meaning);
  return text;
}

}  // namespace

bool Diagnosis::has_nvrtc() const {
  return std::any_of(findings.begin(), findings.end(),
                     [](const device::Finding& finding) { return finding.what == "nvrtc" && finding.used; });
}

std::string Diagnosis::verdict() const {
  const std::string emulator = runs_on_emulator() ? "the emulator (for correctness, not speed)" : "";
  if (runs_on_gpu())
    return fmt::format("every operation runs on {}{}{}", gpus.front().name, emulator.empty() ? "" : " and on ",
                       emulator);
  if (!gpus.empty()) {
    const std::string limit =
        fmt::format("{} runs only kernels that a cache already holds: NVRTC was not found", gpus.front().name);
    return emulator.empty() ? limit : fmt::format("{}; everything runs on {}", limit, emulator);
  }
  if (!emulator.empty()) return fmt::format("no usable GPU: every operation runs on {}", emulator);
  return "nothing runs here: there is no usable GPU, and the emulator has no C++ compiler";
}

Diagnosis diagnose() {
  Diagnosis diagnosis{.findings = device::find_cuda({}), .variables = environment_variables()};
  diagnosis.gpus = open_gpus(diagnosis.findings);
  find_emulator(diagnosis);
  find_caches(diagnosis);
  return diagnosis;
}

std::string diagnosis_text(const Diagnosis& diagnosis) {
  std::string text = line("vostok", library_version) + findings_text(diagnosis);
  for (const DeviceInfo& gpu : diagnosis.gpus) text += gpu_text(gpu);
  text += emulator_text(diagnosis);
  return text + caches_text(diagnosis) + variables_text(diagnosis) + line("verdict", diagnosis.verdict());
}

std::string diagnosis_json(const Diagnosis& diagnosis) {
  using nlohmann::ordered_json;
  ordered_json object = {{"version", library_version}, {"runs", diagnosis.runs()}, {"verdict", diagnosis.verdict()}};
  object["findings"] = ordered_json::array();
  for (const device::Finding& finding : diagnosis.findings)
    object["findings"].push_back(
        {{"what", finding.what}, {"where", finding.where}, {"state", finding.state}, {"used", finding.used}});
  object["gpus"] = ordered_json::array();
  for (const DeviceInfo& gpu : diagnosis.gpus)
    object["gpus"].push_back({{"name", gpu.name},
                              {"uuid", gpu.uuid},
                              {"architecture", gpu.architecture},
                              {"multiprocessors", gpu.multiprocessors},
                              {"clock_mhz", gpu.clock_mhz},
                              {"memory_clock_mhz", gpu.memory_clock_mhz},
                              {"memory_bytes", gpu.memory_bytes},
                              {"l2_bytes", gpu.l2_bytes},
                              {"driver", gpu.driver}});
  object["emulator"] = {{"compiler", diagnosis.emulator_compiler}, {"problem", diagnosis.emulator_problem}};
  const cache::Location& location = diagnosis.cache_location;
  object["cache"] = {{"folder", location.folder ? ordered_json(location.folder->string()) : ordered_json()},
                     {"from", location.from}};
  object["cache"]["layers"] = ordered_json::array();
  for (const cache::LayerState& layer : diagnosis.layers)
    object["cache"]["layers"].push_back({{"kind", layer.kind},
                                         {"path", layer.path},
                                         {"state", layer.state},
                                         {"tuning_rows", layer.tuning_rows},
                                         {"code_rows", layer.code_rows},
                                         {"bytes", layer.bytes}});
  object["cache"]["warnings"] = diagnosis.cache_warnings;
  object["environment"] = ordered_json::object();
  for (const EnvironmentVariable& variable : diagnosis.variables)
    object["environment"][variable.name] = variable.value ? ordered_json(*variable.value) : ordered_json();
  return json_text(object);
}

}  // namespace vostok::cli
