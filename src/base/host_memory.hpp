// How much memory this machine can still give: asked before a number from a file decides what is allocated.
#pragma once

#include <cstdint>

namespace vostok {

/// Memory that the system can give without ending a process for it: what is free or can be freed, swap too, and no more
/// than the container's limit. Where the system does not tell, all that the machine has.
std::int64_t available_host_bytes();

/// All the memory that the machine has, used or not.
std::int64_t machine_memory_bytes();

}  // namespace vostok
