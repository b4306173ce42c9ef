// The context of a command: its device, its caches, and its notices on stderr.
#pragma once

#include <filesystem>
#include <string>

#include <vostok/context.hpp>

#include "cli/progress_line.hpp"
#include "plan/stores.hpp"

namespace vostok::cli {

/// `device` as --device takes it; `cache`: the caches' folder, empty for the default. `progress` must outlive the
/// context. `tool`: this program's file where it is the tool, which starts its workers unless VOSTOK_TOOL names
/// another; empty for contexts that measure nothing.
Options context_options(const std::string& device, const std::string& cache, ProgressLine& progress, const std::filesystem::path& tool = {});

/// A GPU that a tuning.db has rows of, as device::open_compile_only takes it.
std::string fields_of(const plan::DeviceKey& device);

}  // namespace vostok::cli
