// Compares a record of compiled kernels with an earlier one: what a change of the sources did to machine code.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "bench/harness/json.hpp"

namespace vostok::bench {

/// The rows of an earlier record, by code key: equal code by the same compiler gives equal figures. Failures are left
/// out; nothing where there is no file. Errors: those of a file that is no such record.
std::map<std::string, Json> compiled_before(const std::filesystem::path& record);

/// Says in a line of each kernel what differs, or that it is new or gone. Both lists are rows of shipped_kernels, whose
/// architecture and expression name a kernel. `whole`: a kernel that only `earlier` has is gone, not just left out.
/// Errors: invalid_argument (a row without architecture or expression).
std::vector<std::string> kernel_changes(const Json& earlier, const Json& now, bool whole);

}  // namespace vostok::bench
