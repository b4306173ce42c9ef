#include "cli/tool_context.hpp"

#include "base/environment.hpp"
#include "base/text.hpp"

namespace vostok::cli {

Options context_options(const std::string& device, const std::string& cache, ProgressLine& progress,
                        const std::filesystem::path& tool) {
  Options options{.device = device};
  if (!tool.empty() && !trusted_environment("VOSTOK_TOOL")) options.worker.tool = tool;
  if (!cache.empty()) options.cache.folder = cache;
  options.log = [&progress](LogLevel level, std::string_view text) {
    progress.note(fmt::format("{}{}", level == LogLevel::warning ? "warning: " : "", text));
  };
  return options;
}

std::string fields_of(const plan::DeviceKey& device) {
  return to_text({{"architecture", device.architecture},
                  {"l2_bytes", std::to_string(device.l2_bytes)},
                  {"memory_bytes", std::to_string(device.memory_bytes)},
                  {"multiprocessors", std::to_string(device.multiprocessors)},
                  {"name", device.name}});
}

}  // namespace vostok::cli
