// Refuses work that does not fit in this machine, before the system ends the process for it.
#pragma once

#include <cstdint>

#include <vostok/enums.hpp>

namespace vostok::cli {

/// The elements that a run and its float64 verification hold.
struct Footprint {
  double rows = 0;      ///< of the sparse matrix
  double nonzeros = 0;  ///< of the sparse matrix
  double inputs = 0;    ///< of the operands beside it, the whole batch
  double outputs = 0;   ///< of the outputs, the whole batch
};

/// The elements that a batch of [rows, columns] takes with a leading dimension and a stride, of which 0 means packed.
/// They may be more than any memory holds.
double stored_elements(Layout layout, std::int64_t rows, std::int64_t columns, std::int64_t leading, std::int64_t stride, std::int64_t batch);

/// Host memory that it takes, about; on the emulator the device's memory is in it.
double host_bytes(const Footprint& footprint);

/// Errors: out_of_memory naming the operation, the bytes and this machine's memory.
void require_host_memory(const char* operation, const Footprint& footprint);

}  // namespace vostok::cli
