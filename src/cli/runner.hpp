// One run of any operation: matrix, context, plan, operands, verification, measurement, report.
#pragma once

#include "cli/job.hpp"
#include "cli/run_options.hpp"

namespace vostok::cli {

/// Prints the report and returns the exit status.
int run(const RunOptions& options, Job& job, const std::filesystem::path& tool);

}  // namespace vostok::cli
