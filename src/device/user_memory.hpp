// Memory from the allocator of the options, checked.
#pragma once

#include <cstdint>

#include <vostok/context.hpp>

namespace vostok::device {

/// The alignment of every array and workspace, on which kernels rely.
inline constexpr std::uintptr_t memory_alignment_bytes = 256;

/// nullptr for 0 bytes, without calling the allocator. Errors: out_of_memory; invalid_argument for misaligned
/// memory, which is returned to it.
void* allocate_from_user(Allocator& allocator, std::int64_t bytes);

}  // namespace vostok::device
