#include "plan/shared_format.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>
#include <vector>

#include "base/text.hpp"
#include "plan/candidates.hpp"

namespace vostok::plan {

namespace {

constexpr double not_served = std::numeric_limits<double>::infinity();

std::string format_of(const Task& task, const Decision& decision) {
  return decision.family->packed_format(*task.query, decision.config);
}

/// The packing of a task, which every task that shares a format has.
const TaskPacking& packing_of(const Task& task) {
  if (!task.packing) fail(ErrorCode::internal, "cannot choose a packed format: a task passes values at every call");
  return *task.packing;
}

/// The slow-down of a task that reads this format. At least 1: a prediction does not beat a tuned choice.
double slowdown(const Task& task, const Decision& own, const std::string& format, std::int64_t max_workspace_bytes) {
  if (format_of(task, own) == format) return 1;
  std::string reasons;
  const auto other = cheapest(*restricted(task, format), max_workspace_bytes, reasons);
  return other ? std::max(1.0, other->us / own.family->predict_us(*task.query, own.config)) : not_served;
}

/// The tasks' formats, each once, the last task's first; CSR comes last.
std::vector<std::string> formats_of(std::span<const Task> tasks, std::span<const std::shared_ptr<const Decision>> own) {
  std::vector<std::string> formats;
  const auto add = [&](std::string format) {
    if (std::ranges::find(formats, format) == formats.end()) formats.push_back(std::move(format));
  };
  for (std::size_t i = tasks.size(); i-- > 0;)
    if (auto format = format_of(tasks[i], *own[i]); !format.empty()) add(std::move(format));
  add({});
  return formats;
}

}  // namespace

std::shared_ptr<const ops::Query> restricted(const Task& task, const std::string& format) {
  return packing_of(task).restricted(format);
}

std::string shared_format(std::span<const Task> tasks, std::span<const std::shared_ptr<const Decision>> own,
                          const std::string& wanted, std::int64_t max_workspace_bytes) {
  const auto all = [&](const std::string& format) {
    double logarithm = 0;
    for (std::size_t i = 0; i < tasks.size(); ++i)
      logarithm += std::log(slowdown(tasks[i], *own[i], format, max_workspace_bytes));
    return logarithm;
  };
  if (wanted.empty()) {
    const std::vector<std::string> formats = formats_of(tasks, own);
    std::vector<double> costs;
    std::ranges::transform(formats, std::back_inserter(costs), all);
    const auto least = std::ranges::min_element(costs);
    return *least == not_served ? std::string() : formats[static_cast<std::size_t>(least - costs.begin())];
  }
  const auto format = packing_of(tasks.front()).family_format(wanted);
  if (!format)
    fail(ErrorCode::invalid_argument,
         "cannot plan: PlanOptions::packed_format = \"{}\" is no format of the problem's values", wanted);
  if (all(*format) == not_served)
    fail(ErrorCode::unsupported,
         "cannot plan: no family reads packed values of PlanOptions::packed_format = \"{}\" for every n of the problem",
         wanted);
  return *format;
}

}  // namespace vostok::plan
