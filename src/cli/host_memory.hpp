// Refuses work that does not fit in this machine, before the system ends the process for it.
#pragma once

#include <cstdint>

namespace vostok::cli {

/// Host memory that an SpMM and its float64 verification take, about; on the emulator the device's memory is in it.
double spmm_host_bytes(std::int64_t m, std::int64_t k, std::int64_t n, std::int64_t nonzeros);

/// Errors: out_of_memory naming `what`, the bytes and this machine's memory.
void require_host_memory(const char* what, double bytes);

}  // namespace vostok::cli
