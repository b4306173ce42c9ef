// What compiled machine code says of itself, without the tools of a CUDA toolkit.
#pragma once

#include <cstdint>
#include <string_view>

namespace vostok::bench {

/// Counts the instructions of all kernels in a cubin, and of the functions that they call. Those that do nothing are
/// left out: code ends with such padding. Errors: invalid_argument (no 64-bit ELF of a GPU's code, or one cut short).
std::int64_t machine_instructions(std::string_view cubin);

}  // namespace vostok::bench
