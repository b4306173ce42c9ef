// The context of a command: its device, its caches, and its notices on stderr.
#pragma once

#include <filesystem>
#include <string>

#include <vostok/context.hpp>

#include "cli/progress_line.hpp"
#include "plan/stores.hpp"

namespace vostok::cli {

/// `device`: as for --device; `cache`: the caches' folder, empty for the default. `progress` must outlive the context.
/// `tool`: this program's path if it is the tool; it then starts itself as the worker unless VOSTOK_TOOL names another.
/// Empty for contexts that do not measure.
Options context_options(const std::string& device, const std::string& cache, ProgressLine& progress,
                        const std::filesystem::path& tool = {});

/// A GPU with rows in a tuning.db, in the form that device::open_compile_only takes.
std::string fields_of(const plan::DeviceKey& device);

}  // namespace vostok::cli
