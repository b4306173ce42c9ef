// Many problems at once.
#include <algorithm>
#include <string>

#include "c/handles.hpp"
#include "c/options.hpp"
#include "c/problems.hpp"

namespace vostok::c {

template <>
struct Structure<vostok_preparation> {
  static constexpr const char* name = "vostok_preparation";
  static void set_defaults(vostok_preparation&) {}
};

namespace {

/// How each problem fared; nothing where it is planned.
using Outcomes = std::vector<std::optional<Error>>;

AnyProblem any_problem(const vostok_preparation& known) {
  const void* const problem = known.problem;
  switch (known.operation) {
    case VOSTOK_OPERATION_SPMM: return problem_of<Spmm>(static_cast<const vostok_spmm*>(problem));
    case VOSTOK_OPERATION_SDDMM: return problem_of<Sddmm>(static_cast<const vostok_sddmm*>(problem));
    case VOSTOK_OPERATION_SOFTMAX: return problem_of<Softmax>(static_cast<const vostok_softmax*>(problem));
    case VOSTOK_OPERATION_SOFTMAX_BACKWARD:
      return problem_of<SoftmaxBackward>(static_cast<const vostok_softmax_backward*>(problem));
    case VOSTOK_OPERATION_ATTENTION: return problem_of<SparseAttention>(static_cast<const vostok_attention*>(problem));
    case VOSTOK_OPERATION_ATTENTION_BACKWARD:
      return problem_of<SparseAttentionBackward>(static_cast<const vostok_attention*>(problem));
    case VOSTOK_OPERATION_DEPTHWISE:
      return problem_of<DepthwiseConvolution>(static_cast<const vostok_depthwise*>(problem));
    case VOSTOK_OPERATION_BIAS_ACTIVATION:
      return problem_of<BiasActivation>(static_cast<const vostok_bias_activation*>(problem));
    case VOSTOK_OPERATION_IM2COL: return problem_of<Im2col>(static_cast<const vostok_im2col*>(problem));
    default: fail_enumerator("vostok_preparation", "operation", known.operation, operation_enumeration);
  }
}

Preparation preparation_of(const vostok_preparation* given) {
  const vostok_preparation known = read(given);
  return {.problem = any_problem(known), .topology = known.topology == nullptr ? Topology() : known.topology->value};
}

/// Problems lie as far apart as the caller's version of the structure is long, which the first one says.
const vostok_preparation* problem_at(const vostok_preparation* problems, std::size_t number) {
  const auto* const first = reinterpret_cast<const char*>(problems);
  return reinterpret_cast<const vostok_preparation*>(first + number * problems->size);
}

Outcomes prepare(const Context& context, const vostok_preparation* problems, std::size_t count,
                 const PlanOptions& options) {
  Outcomes outcomes(count);
  std::vector<Preparation> readable;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    try {
      readable.push_back(preparation_of(problem_at(problems, i)));
      numbers.push_back(i);
    } catch (const Error& error) {
      outcomes[i] = error;
    }
  }
  Outcomes planned = context.prepare(readable, options);
  for (std::size_t i = 0; i < planned.size(); ++i) outcomes[numbers[i]] = std::move(planned[i]);
  return outcomes;
}

/// One line for each problem.
std::vector<std::byte> lines_of(const Outcomes& outcomes) {
  std::string lines;
  for (const std::optional<Error>& outcome : outcomes) {
    std::string line = outcome ? outcome->what() : "";
    std::ranges::replace(line, '\n', ' ');
    lines += line + '\n';
  }
  const auto* const bytes = reinterpret_cast<const std::byte*>(lines.data());
  return {bytes, bytes + lines.size()};
}

}  // namespace

}  // namespace vostok::c

using namespace vostok::c;

vostok_status vostok_prepare(const vostok_context* context, const vostok_preparation* problems, size_t count,
                             const vostok_plan_options* options, vostok_status* statuses, vostok_bytes** failures) {
  if (failures != nullptr) *failures = nullptr;
  return guarded([&] {
    const vostok::Context& preparing = context_of(context);
    if (count > 0) static_cast<void>(bytes_to_fill(problems, Structure<vostok_preparation>::name));
    const Outcomes outcomes = prepare(preparing, problems, count, options_of(options));
    if (failures != nullptr) *failures = new vostok_bytes(lines_of(outcomes));
    if (statuses == nullptr) return;
    for (const std::optional<vostok::Error>& outcome : outcomes)
      *statuses++ = outcome ? static_cast<vostok_status>(outcome->code()) + 1 : VOSTOK_OK;
  });
}
