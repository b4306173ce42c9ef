#include "cli/host_memory.hpp"

#include <unistd.h>

#include "base/text.hpp"

namespace vostok::cli {

double host_bytes(const Footprint& footprint) {
  // Per element: the operand (float), its copy on the emulator, the reference (double) and the output read back.
  constexpr double per_row = 32;
  constexpr double per_nonzero = 32;
  constexpr double per_input = 12;
  constexpr double per_output = 20;
  return per_row * footprint.rows + per_nonzero * footprint.nonzeros + per_input * footprint.inputs + per_output * footprint.outputs;
}

void require_host_memory(const char* operation, const Footprint& footprint) {
  constexpr double gib = 1024.0 * 1024.0 * 1024.0;
  const double bytes = host_bytes(footprint);
  const double here = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (bytes > here)
    fail(ErrorCode::out_of_memory, "cannot run {}: it takes about {:.3g} GiB of host memory, and this machine has {:.1f} GiB", operation, bytes / gib,
         here / gib);
}

}  // namespace vostok::cli
