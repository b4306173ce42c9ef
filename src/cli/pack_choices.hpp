// The kernels of every choice in a file, which `vostok pack` compiles if no problems are named.
#pragma once

#include <string>
#include <vector>

#include <vostok/context.hpp>

#include "cache/tuning_content.hpp"
#include "cli/pack.hpp"
#include "cli/progress_line.hpp"

namespace vostok::cli {

/// The choices of these files for GPUs of this model. For each problem, the first file that has one counts.
std::vector<cache::WinnerRow> choices_for(const std::vector<std::string>& files, const plan::DeviceKey& device);

/// Plans each of these on a context that only compiles and finds them in its caches, so that their kernels are in its code cache: of the choice, of
/// the forms that it reads, of packing, and the tools that take such a matrix. A matrix of the sizes and row lengths that the choice was made for
/// stands in for the one that nobody has any more. With so many of each problem's candidates (cli/pack_candidates.hpp). What cannot be planned is
/// said in `failures`.
PackedDevice pack_choices(const Context& context, const std::vector<cache::WinnerRow>& choices, int candidates, ProgressLine& line,
                          std::vector<std::string>& failures);

}  // namespace vostok::cli
