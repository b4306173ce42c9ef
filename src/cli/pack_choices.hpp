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

/// Plans each of these on a context that only compiles, whose caches contain the choices. The context's code cache then
/// has the kernels of the choice, of its forms, of packing, and of the tools that take such a matrix. The original
/// matrices are gone: matrices of the sizes and row lengths that the choices were made for stand in. `candidates` of
/// each problem are compiled, too (cli/pack_candidates.hpp). `failures` lists what cannot be planned.
PackedDevice pack_choices(const Context& context, const std::vector<cache::WinnerRow>& choices, int candidates,
                          ProgressLine& line, std::vector<std::string>& failures);

}  // namespace vostok::cli
