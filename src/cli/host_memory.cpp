#include "cli/host_memory.hpp"

#include <algorithm>

#include "base/host_memory.hpp"
#include "base/text.hpp"

namespace vostok::cli {

double stored_elements(Layout layout, std::int64_t rows, std::int64_t columns, std::int64_t leading,
                       std::int64_t stride, std::int64_t batch) {
  const auto lines = static_cast<double>(layout == Layout::row_major ? rows : columns);
  const auto length = static_cast<double>(layout == Layout::row_major ? columns : rows);
  const double matrix = lines * std::max(length, static_cast<double>(leading));
  const double step = stride != 0 ? static_cast<double>(stride) : matrix;
  return batch < 1 ? 0 : matrix + step * static_cast<double>(batch - 1);
}

double host_bytes(const Footprint& footprint) {
  // Per element: the operand (float), its copy on the emulator, the reference (double) and the output read back.
  constexpr double per_row = 32;
  constexpr double per_nonzero = 32;
  constexpr double per_input = 12;
  constexpr double per_output = 20;
  return per_row * footprint.rows + per_nonzero * footprint.nonzeros + per_input * footprint.inputs +
         per_output * footprint.outputs;
}

void require_host_memory(const char* operation, const Footprint& footprint) {
  constexpr double gib = 1024.0 * 1024.0 * 1024.0;
  const double bytes = host_bytes(footprint);
  const auto here = static_cast<double>(machine_memory_bytes());
  if (bytes > here)
    fail(ErrorCode::out_of_memory,
         "cannot run {}: it takes about {:.3g} GiB of host memory, and this machine has {:.1f} GiB", operation,
         bytes / gib, here / gib);
}

}  // namespace vostok::cli
