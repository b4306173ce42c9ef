#include "bench/harness/run_record.hpp"

#include <cstdio>
#include <ctime>
#include <fstream>
#include <regex>
#include <thread>
#include <utility>

#include "base/text.hpp"
#include "base/version.hpp"
#include "codegen/source.hpp"
#include "commit.hpp"
#include "context_state.hpp"

namespace vostok::bench {

namespace {

device::Device& device_of(const Context& context) { return context.state()->session->device(); }

/// The first line of `path` that starts with `start`, whole; empty if there is none.
std::string line_of(const char* path, std::string_view start) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(start)) return line;
  return {};
}

std::string processor() {
  const std::string line = line_of("/proc/cpuinfo", "model name");
  const std::size_t colon = line.find(": ");
  return colon == std::string::npos ? std::string() : line.substr(colon + 2);
}

std::string compiler_identity(const device::Device& device) {
  try {
    return device.compiler().identity();
  } catch (const Error&) {
    return {};  // a run from cached code needs no compiler
  }
}

Json device_json(const DeviceInfo& info) {
  return {
      {"name", info.name},
      {"architecture", info.architecture},
      {"gpu", info.gpu},
      {"multiprocessors", info.multiprocessors},
      {"clock_mhz", info.clock_mhz},
      {"memory_clock_mhz", info.memory_clock_mhz},
      {"memory_bytes", info.memory_bytes},
      {"l2_bytes", info.l2_bytes},
      {info.gpu ? "cuda" : "host_compiler", info.driver},
      {"driver", text_or_null(info.gpu ? parse_driver_version(line_of("/proc/driver/nvidia/version", "NVRM version"))
                                       : std::string())}};
}

}  // namespace

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string commit_of(const RunOptions& options) { return options.commit.empty() ? built_from_commit : options.commit; }

std::string parse_driver_version(const std::string& text) {
  std::smatch match;
  return std::regex_search(text, match, std::regex(R"(\s(\d+\.\d+(\.\d+)?)\s)")) ? match[1].str() : std::string();
}

Json record_head(const std::string& benchmark, const RunOptions& options, bool complete) {
  return {{"schema", record_schema},    {"benchmark", benchmark}, {"complete", complete},
          {"command", options.command}, {"date", utc_now()},      {"commit", commit_of(options)}};
}

RunRecord::RunRecord(const std::string& benchmark, const RunOptions& options, const Context& context)
    : options_(options), context_(context) {
  facts_ = record_head(benchmark, options, false);
  facts_.update(
      Json{{"seconds", nullptr},
           {"library_version", library_version},
           {"templates", Json::object()},
           {"device", device_json(context.device())},
           {"compiler", text_or_null(compiler_identity(device_of(context)))},
           {"host", {{"processor", text_or_null(processor())}, {"cores", std::thread::hardware_concurrency()}}},
           {"clocks", {{"before", clocks_json(device_of(context).clocks())}, {"after", nullptr}}}});
}

void RunRecord::add_nothing_to_compute(const Problem& problem) {
  constexpr const char* reason = "there is nothing to compute";
  add_row({{"file", problem.file}, {"n", problem.n}, {"skipped", reason}});
  std::fputs(fmt::format("{}: {}\n", label(problem), reason).c_str(), stdout);
}

void RunRecord::note_template(const std::string& header) {
  facts_["templates"][header] = codegen::closure_digest(header);
}

void RunRecord::write(bool complete) {
  if (options_.out.empty()) return;
  facts_["complete"] = complete;
  facts_["seconds"] = number(std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count());
  facts_["clocks"]["after"] = clocks_json(device_of(context_).clocks());
  Json whole = facts_;
  whole["rows"] = rows_;

  write_json(options_.out, whole);
}

}  // namespace vostok::bench
