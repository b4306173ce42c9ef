#include "plan/problem_line.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "ops/attention/problem.hpp"
#include "ops/conv/problem.hpp"
#include "ops/problem_text.hpp"
#include "ops/sddmm/problem.hpp"
#include "ops/softmax/problem.hpp"
#include "ops/spmm/problem.hpp"

namespace vostok::plan {

namespace {

/// " --set field=value" for every field that differs from its default and is not in `said`.
template <class Problem>
std::string settings(const Problem& problem, std::initializer_list<std::string_view> said = {}) {
  const FieldMap standard = ops::fields_as_text(Problem{});
  std::string text;
  for (const auto& [field, value] : ops::fields_as_text(problem))
    if (standard.at(field) != value && std::find(said.begin(), said.end(), field) == said.end())
      text += fmt::format(" --set {}={}", field, value);
  return text;
}

}  // namespace

std::string problem_line(const Spmm& problem) {
  return fmt::format("spmm --n {}", ops::largest_size(problem)) + settings(problem, {"n"});
}
std::string problem_line(const Sddmm& problem) {
  return fmt::format("sddmm --n {}", problem.n) + settings(problem, {"n"});
}
std::string problem_line(const Softmax& problem) { return "softmax" + settings(problem); }
std::string problem_line(const SoftmaxBackward& problem) { return "softmax --backward" + settings(problem); }
std::string problem_line(const SparseAttention& problem) {
  return fmt::format("attention --n {}", problem.n) + settings(problem, {"n"});
}
std::string problem_line(const SparseAttentionBackward& problem) {
  return fmt::format("attention --backward --n {}", problem.forward.n) + settings(problem.forward, {"n"});
}
std::string problem_line(const DepthwiseConvolution& problem) {
  // Padding is always printed: the default of the command differs from the problem's.
  const Padding& padding = problem.padding;
  return fmt::format("depthwise --channels {} --height {} --width {} --padding {},{},{},{}", problem.channels,
                     problem.height, problem.width, padding.top, padding.bottom, padding.left, padding.right) +
         settings(problem,
                  {"channels", "height", "width", "padding.top", "padding.bottom", "padding.left", "padding.right"});
}
std::string problem_line(const BiasActivation& problem) {
  return fmt::format("bias --rows {} --columns {}", problem.rows, problem.columns) +
         settings(problem, {"rows", "columns"});
}
std::string problem_line(const Im2col& problem) {
  return fmt::format("im2col --channels {} --height {} --width {}", problem.channels, problem.height, problem.width) +
         settings(problem, {"channels", "height", "width"});
}

}  // namespace vostok::plan
