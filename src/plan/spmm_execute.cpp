// The hot path: checks, binding and the launch. No lock, no allocation, no driver call but the launch.
#include <array>
#include <cstdint>

#include "base/text.hpp"
#include "plan/spmm_plan_state.hpp"

namespace vostok {

namespace {

struct Operand {
  const char* name;
  const void* pointer;
};

std::array<Operand, 4> operands(const SpmmArguments& arguments) {
  return {{{"values", arguments.values}, {"dense", arguments.dense}, {"output", arguments.output}, {"bias", arguments.bias}}};
}

/// The slow path of the alignment check: finds the operand and the value to declare.
[[noreturn]] void fail_misaligned(const SpmmArguments& arguments, int alignment) {
  for (const Operand& operand : operands(arguments)) {
    const auto address = reinterpret_cast<std::uintptr_t>(operand.pointer);
    if (address % static_cast<std::uintptr_t>(alignment) == 0) continue;
    const std::uintptr_t actual = address & (~address + 1);
    fail(ErrorCode::misaligned_pointer,
         "cannot execute SpMM: .{} = {} is aligned to {} bytes, and the problem declares alignment_bytes = {}; declare {}", operand.name,
         operand.pointer, actual, alignment, actual);
  }
  fail(ErrorCode::internal, "cannot execute SpMM: an alignment check contradicts itself");
}

[[noreturn]] void fail_missing(const char* operand) { fail(ErrorCode::invalid_argument, "cannot execute SpMM: .{} is null", operand); }

}  // namespace

std::int64_t SpmmPlanState::size_of_call(const SpmmArguments& arguments) const {
  if (!several_n()) {
    if (arguments.n != 0 && arguments.n != problem.n)
      fail(ErrorCode::invalid_argument, "cannot execute SpMM: .n = {}, and the plan was made for n = {}", arguments.n, problem.n);
    return problem.n;
  }
  if (arguments.n < 1 || arguments.n > n_largest)
    fail(ErrorCode::invalid_argument, "cannot execute SpMM: .n = {}, and the plan serves 1 to {}", arguments.n, n_largest);
  return arguments.n;
}

void SpmmPlanState::require_operands(const SpmmArguments& arguments) const {
  if (arguments.output == nullptr) fail_missing("output");
  if (topology.nonzeros() > 0 && arguments.values == nullptr) fail_missing("values");
  if (topology.nonzeros() > 0 && arguments.dense == nullptr) fail_missing("dense");
  if (problem.epilogue.bias != Bias::none && arguments.bias == nullptr) fail_missing("bias");
  std::uintptr_t bits = 0;
  for (const Operand& operand : operands(arguments)) bits |= reinterpret_cast<std::uintptr_t>(operand.pointer);
  if ((bits & (static_cast<std::uintptr_t>(problem.alignment_bytes) - 1)) != 0) fail_misaligned(arguments, problem.alignment_bytes);
}

void SpmmPlanState::execute(Stream stream, const SpmmArguments& arguments) const {
  const std::int64_t n = size_of_call(arguments);
  if (choices.empty()) return;
  require_operands(arguments);
  const ops::SpmmLaunch& launch = choice_for(n).launch;
  alignas(16) std::array<unsigned char, ops::max_argument_bytes> packed;
  device::LaunchShape shape = launch.shape;
  shape.grid = launch.bind(launch, arguments, n, packed.data());
  topology.state()->note_use(stream);
  session->device().launch(stream, *launch.kernel, shape, packed.data(), launch.argument_bytes);
}

void SpmmPlan::execute(Stream stream, const SpmmArguments& arguments) const {
  if (!state_) fail(ErrorCode::invalid_argument, "cannot execute SpMM: the plan handle is empty");
  state_->execute(stream, arguments);
}

}  // namespace vostok
