// Refuses work that exceeds this machine's memory, before the system kills the process.
#pragma once

#include <cstdint>

#include <vostok/enums.hpp>

namespace vostok::cli {

/// The number of elements that a run and its float64 verification hold.
struct Footprint {
  double rows = 0;      ///< of the sparse matrix
  double nonzeros = 0;  ///< of the sparse matrix
  double inputs = 0;    ///< of the other operands, over the whole batch
  double outputs = 0;   ///< of the outputs, the whole batch
};

/// The elements of a batch of [rows, columns] with a leading dimension and a stride, where 0 means packed. The
/// result may exceed any memory.
double stored_elements(Layout layout, std::int64_t rows, std::int64_t columns, std::int64_t leading,
                       std::int64_t stride, std::int64_t batch);

/// Approximate host memory; on the emulator it includes the device's memory.
double host_bytes(const Footprint& footprint);

/// Errors: out_of_memory naming the operation, the bytes and this machine's memory.
void require_host_memory(const char* operation, const Footprint& footprint);

}  // namespace vostok::cli
