#include "ops/topology/packed_runs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.hpp"
#include "base/text.hpp"

namespace vostok::ops {

std::string runs_format(int gap_bits, Dtype element) {
  return fmt::format("runs{}/gap{}/{}", run_slots(), gap_bits, name(element));
}

std::int64_t most_runs(const TopologyStatistics& walked, int gap_bits) {
  constexpr const char* what = "runs of a packed matrix";
  const std::int64_t escapes =
      checked_multiply(walked.rows - walked.empty_rows, walked.cols / run_escape(gap_bits), what);
  return (walked.nonzeros + escapes) / run_slots() + std::min(walked.rows - walked.empty_rows, walked.nonzeros);
}

std::optional<std::string> packed_runs_declined(const TopologyStatistics& walked, int gap_bits) {
  constexpr std::int64_t most_columns = 65536;
  if (walked.duplicates) return "packed runs hold a column once: a row of the mask names one twice";
  if (!walked.sorted) return "packed runs count from column to column, and rows of the mask are not sorted";
  if (walked.cols > most_columns) return "packed runs start at columns of 16 bits";
  if (walked.nonzeros > std::numeric_limits<std::int32_t>::max()) return "packed runs number their values in 32 bits";
  const std::int64_t filled_rows = walked.rows - walked.empty_rows;
  if (filled_rows * (walked.cols / run_escape(gap_bits)) > 2 * walked.nonzeros + filled_rows)
    return fmt::format("gaps of {} bits are too narrow: there may be two escapes for each nonzero", gap_bits);
  if (checked_multiply(most_runs(walked, gap_bits) + group_runs(), run_slots(), "slots of packed runs") >
      std::numeric_limits<std::int32_t>::max())
    return "packed runs number their slots in 31 bits";
  return std::nullopt;
}

double expected_slots(const TopologyStatistics& walked, int gap_bits) {
  const double places = static_cast<double>(std::max<std::int64_t>(walked.rows, 1)) *
                        static_cast<double>(std::max<std::int64_t>(walked.cols, 1));
  const auto nonzeros = static_cast<double>(walked.nonzeros);
  const double passed = std::pow(1 - std::min(1.0, nonzeros / places), run_escape(gap_bits) - 1);
  const double escapes = passed < 1 ? std::min(passed / (1 - passed), places / run_escape(gap_bits)) : 0;
  const auto filled_rows = static_cast<double>(walked.rows - walked.empty_rows);
  return nonzeros * (1 + escapes) + filled_rows * (run_slots() - 1) / 2;
}

}  // namespace vostok::ops
