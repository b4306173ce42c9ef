// Refuses work that does not fit in this machine, before the system ends the process for it.
#pragma once

namespace vostok::cli {

/// The elements that a run and its float64 verification hold.
struct Footprint {
  double rows = 0;      ///< of the sparse matrix
  double nonzeros = 0;  ///< of the sparse matrix
  double inputs = 0;    ///< of the operands beside it, the whole batch
  double outputs = 0;   ///< of the outputs, the whole batch
};

/// Host memory that it takes, about; on the emulator the device's memory is in it.
double host_bytes(const Footprint& footprint);

/// Errors: out_of_memory naming the operation, the bytes and this machine's memory.
void require_host_memory(const char* operation, const Footprint& footprint);

}  // namespace vostok::cli
