#include "cli/host_memory.hpp"

#include <unistd.h>

#include "base/text.hpp"

namespace vostok::cli {

double spmm_host_bytes(std::int64_t m, std::int64_t k, std::int64_t n, std::int64_t nonzeros) {
  // Per element: the operands (float), their copies on the emulator, the reference (double) and the output read back.
  constexpr double per_row = 32;
  constexpr double per_nonzero = 32;
  constexpr double per_dense_element = 12;
  constexpr double per_output_element = 20;
  const auto rows = static_cast<double>(m);
  const auto columns = static_cast<double>(n);
  return per_row * rows + per_nonzero * static_cast<double>(nonzeros) + per_dense_element * static_cast<double>(k) * columns +
         per_output_element * rows * columns;
}

void require_host_memory(const char* what, double bytes) {
  constexpr double gib = 1024.0 * 1024.0 * 1024.0;
  const double here = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (bytes > here)
    fail(ErrorCode::out_of_memory, "cannot {}: it takes about {:.3g} GiB of host memory, and this machine has {:.1f} GiB", what, bytes / gib,
         here / gib);
}

}  // namespace vostok::cli
