#include "ops/topology/panels.hpp"

#include <limits>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "ops/topology/form_bytes.hpp"

namespace vostok::ops {

std::optional<std::string> panels_declined(const TopologyStatistics& statistics, int panel_rows) {
  constexpr std::int64_t bytes_per_nonzero = 16;
  if (!statistics.sorted) return "panels of columns are cut out of sorted rows: a row of A is not sorted";
  if (statistics.nonzeros > std::numeric_limits<std::int32_t>::max()) return "the starts of panels have 32 bits";
  const std::int64_t lines = vostok::panel_count(statistics.cols, panel_rows) + 1;
  const std::int64_t bytes = checked_multiply(checked_multiply(lines, statistics.rows, "starts of panels"),
                                              sizeof(std::int32_t), "starts of panels");
  if (is_mostly_room(bytes, statistics.nonzeros, bytes_per_nonzero))
    return fmt::format("nearly all rows would be empty in nearly all panels: {} bytes of starts for {} nonzeros", bytes,
                       statistics.nonzeros);
  return std::nullopt;
}

void find_panel_starts(const Queue& queue, const CsrArrays& csr, int panel_rows, std::int32_t* starts) {
  const std::int64_t count = vostok::panel_start_count(csr.rows, csr.cols, panel_rows);
  const PanelStepArgs args{.row_offsets = static_cast<const int*>(csr.row_offsets),
                           .column_indices = csr.column_indices,
                           .starts = starts,
                           .rows = csr.rows,
                           .start_count = count,
                           .panel_rows = panel_rows};
  queue.launch(Step<PanelStepTraits>{"topology/panels.h", "find_panel_starts", "PanelStepTraits", {.index = csr.index}},
               queue.blocks_for(count), args);
}

}  // namespace vostok::ops
