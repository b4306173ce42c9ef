#include "c/constants.hpp"

#include <string>
#include <type_traits>

#include <vostok/vostok.h>
#include <vostok/prepare.hpp>

namespace vostok::c {

namespace {

/// Does not compile where the header's constant is not the enumerator's value.
template <class E>
consteval Constant same(E enumerator, const char* name, std::int32_t constant) {
  if (static_cast<std::int32_t>(enumerator) != constant)
    throw "the header's constant is another number than the enumerator";
  return {enumeration(enumerator), name, constant};
}

/// Operations are numbered as the alternatives of AnyProblem.
template <class Problem>
consteval Constant operation(const char* name, std::int32_t constant) {
  if (AnyProblem(Problem{}).index() != static_cast<std::size_t>(constant))
    throw "the header's constant is another number than the alternative";
  return {operation_enumeration, name, constant};
}

consteval bool is_status(ErrorCode code, vostok_status status) {
  return static_cast<vostok_status>(code) + 1 == status;
}

static_assert(is_status(ErrorCode::invalid_argument, VOSTOK_INVALID_ARGUMENT));
static_assert(is_status(ErrorCode::invalid_topology, VOSTOK_INVALID_TOPOLOGY));
static_assert(is_status(ErrorCode::unsupported, VOSTOK_UNSUPPORTED));
static_assert(is_status(ErrorCode::misaligned_pointer, VOSTOK_MISALIGNED_POINTER));
static_assert(is_status(ErrorCode::wrong_device, VOSTOK_WRONG_DEVICE));
static_assert(is_status(ErrorCode::format_mismatch, VOSTOK_FORMAT_MISMATCH));
static_assert(is_status(ErrorCode::capture_active, VOSTOK_CAPTURE_ACTIVE));
static_assert(is_status(ErrorCode::no_device, VOSTOK_NO_DEVICE));
static_assert(is_status(ErrorCode::no_compiler, VOSTOK_NO_COMPILER));
static_assert(is_status(ErrorCode::missing_kernel, VOSTOK_MISSING_KERNEL));
static_assert(is_status(ErrorCode::missing_choice, VOSTOK_MISSING_CHOICE));
static_assert(is_status(ErrorCode::compile_failed, VOSTOK_COMPILE_FAILED));
static_assert(is_status(ErrorCode::out_of_memory, VOSTOK_OUT_OF_MEMORY));
static_assert(is_status(ErrorCode::device_failure, VOSTOK_DEVICE_FAILURE));
static_assert(is_status(ErrorCode::io_failure, VOSTOK_IO_FAILURE));
static_assert(is_status(ErrorCode::internal, VOSTOK_INTERNAL));
static_assert(is_status(ErrorCode::after_fork, VOSTOK_AFTER_FORK));

constexpr Constant all[] = {
    same(Dtype::f32, "f32", VOSTOK_DTYPE_F32),
    same(Dtype::f16, "f16", VOSTOK_DTYPE_F16),
    same(Dtype::bf16, "bf16", VOSTOK_DTYPE_BF16),
    same(IndexType::automatic, "automatic", VOSTOK_INDEX_TYPE_AUTOMATIC),
    same(IndexType::u16, "u16", VOSTOK_INDEX_TYPE_U16),
    same(IndexType::i32, "i32", VOSTOK_INDEX_TYPE_I32),
    same(Layout::row_major, "row_major", VOSTOK_LAYOUT_ROW_MAJOR),
    same(Layout::column_major, "column_major", VOSTOK_LAYOUT_COLUMN_MAJOR),
    same(Bias::none, "none", VOSTOK_BIAS_NONE),
    same(Bias::per_row, "per_row", VOSTOK_BIAS_PER_ROW),
    same(Bias::per_column, "per_column", VOSTOK_BIAS_PER_COLUMN),
    same(Activation::none, "none", VOSTOK_ACTIVATION_NONE),
    same(Activation::relu, "relu", VOSTOK_ACTIVATION_RELU),
    same(Activation::gelu, "gelu", VOSTOK_ACTIVATION_GELU),
    same(Activation::gelu_tanh, "gelu_tanh", VOSTOK_ACTIVATION_GELU_TANH),
    same(Activation::silu, "silu", VOSTOK_ACTIVATION_SILU),
    same(Scale::one, "one", VOSTOK_SCALE_ONE),
    same(Scale::host, "host", VOSTOK_SCALE_HOST),
    same(Scale::device, "device", VOSTOK_SCALE_DEVICE),
    same(Math::strict, "strict", VOSTOK_MATH_STRICT),
    same(Math::accurate, "accurate", VOSTOK_MATH_ACCURATE),
    same(Math::tf32, "tf32", VOSTOK_MATH_TF32),
    same(NonFinite::dense, "dense", VOSTOK_NON_FINITE_DENSE),
    same(NonFinite::sparse, "sparse", VOSTOK_NON_FINITE_SPARSE),
    same(ValueLifetime::per_call, "per_call", VOSTOK_VALUE_LIFETIME_PER_CALL),
    same(ValueLifetime::persistent, "persistent", VOSTOK_VALUE_LIFETIME_PERSISTENT),
    same(RowStatistics::none, "none", VOSTOK_ROW_STATISTICS_NONE),
    same(RowStatistics::write, "write", VOSTOK_ROW_STATISTICS_WRITE),
    same(RowStatistics::read, "read", VOSTOK_ROW_STATISTICS_READ),
    same(Saved::none, "none", VOSTOK_SAVED_NONE),
    same(Saved::probabilities, "probabilities", VOSTOK_SAVED_PROBABILITIES),
    same(Saved::row_statistics, "row_statistics", VOSTOK_SAVED_ROW_STATISTICS),
    same(Effort::heuristic, "heuristic", VOSTOK_EFFORT_HEURISTIC),
    same(Effort::cached, "cached", VOSTOK_EFFORT_CACHED),
    same(Effort::quick, "quick", VOSTOK_EFFORT_QUICK),
    same(Effort::full, "full", VOSTOK_EFFORT_FULL),
    same(Policy::warm, "warm", VOSTOK_POLICY_WARM),
    same(Policy::cold, "cold", VOSTOK_POLICY_COLD),
    same(Provenance::tuned_here, "tuned_here", VOSTOK_PROVENANCE_TUNED_HERE),
    same(Provenance::tuned_elsewhere, "tuned_elsewhere", VOSTOK_PROVENANCE_TUNED_ELSEWHERE),
    same(Provenance::shipped, "shipped", VOSTOK_PROVENANCE_SHIPPED),
    same(Provenance::nearest_problem, "nearest_problem", VOSTOK_PROVENANCE_NEAREST_PROBLEM),
    same(Provenance::nearest_device, "nearest_device", VOSTOK_PROVENANCE_NEAREST_DEVICE),
    same(Provenance::heuristic, "heuristic", VOSTOK_PROVENANCE_HEURISTIC),
    same(Detail::choice, "choice", VOSTOK_DETAIL_CHOICE),
    same(Detail::trials, "trials", VOSTOK_DETAIL_TRIALS),
    same(LogLevel::info, "info", VOSTOK_LOG_LEVEL_INFO),
    same(LogLevel::warning, "warning", VOSTOK_LOG_LEVEL_WARNING),
    same(FirstRun::worker, "worker", VOSTOK_FIRST_RUN_WORKER),
    same(FirstRun::this_process, "this_process", VOSTOK_FIRST_RUN_THIS_PROCESS),
    same(CompilePolicy::allow, "allow", VOSTOK_COMPILE_POLICY_ALLOW),
    same(CompilePolicy::never, "never", VOSTOK_COMPILE_POLICY_NEVER),
    same(Per::matrix, "matrix", VOSTOK_PER_MATRIX),
    same(Per::row, "row", VOSTOK_PER_ROW),
    same(Keep::everything, "everything", VOSTOK_KEEP_EVERYTHING),
    same(Keep::packing, "packing", VOSTOK_KEEP_PACKING),
    same(Keep::execution, "execution", VOSTOK_KEEP_EXECUTION),
    operation<Spmm>("spmm", VOSTOK_OPERATION_SPMM),
    operation<Sddmm>("sddmm", VOSTOK_OPERATION_SDDMM),
    operation<Softmax>("softmax", VOSTOK_OPERATION_SOFTMAX),
    operation<SoftmaxBackward>("softmax_backward", VOSTOK_OPERATION_SOFTMAX_BACKWARD),
    operation<SparseAttention>("attention", VOSTOK_OPERATION_ATTENTION),
    operation<SparseAttentionBackward>("attention_backward", VOSTOK_OPERATION_ATTENTION_BACKWARD),
    operation<DepthwiseConvolution>("depthwise", VOSTOK_OPERATION_DEPTHWISE),
    operation<BiasActivation>("bias_activation", VOSTOK_OPERATION_BIAS_ACTIVATION),
    operation<Im2col>("im2col", VOSTOK_OPERATION_IM2COL),
};

/// Does not compile where an enumeration has gained an enumerator that C does not know.
template <class E>
consteval bool lists_all() {
  std::int32_t count = 0;
  for (const Constant& constant : all)
    if (constant.enumeration == enumeration(E{}) && std::string_view(name(static_cast<E>(count))) == constant.name)
      ++count;
  return name(static_cast<E>(count)) == nullptr;
}

static_assert(lists_all<Dtype>() && lists_all<IndexType>() && lists_all<Layout>() && lists_all<Bias>() &&
              lists_all<Activation>() && lists_all<Scale>() && lists_all<Math>() && lists_all<NonFinite>() &&
              lists_all<ValueLifetime>() && lists_all<RowStatistics>() && lists_all<Saved>() && lists_all<Keep>());

}  // namespace

std::span<const Constant> constants() { return all; }

const char* constant_name(std::string_view enumeration, std::int32_t value) {
  for (const Constant& constant : all)
    if (constant.value == value && constant.enumeration == enumeration) return constant.name;
  return nullptr;
}

std::string constant_names(std::string_view enumeration) {
  std::string names;
  for (const Constant& constant : all) {
    if (constant.enumeration != enumeration) continue;
    if (!names.empty()) names += ", ";
    names += constant.name;
  }
  return names;
}

}  // namespace vostok::c

const char* vostok_enum_name(const char* enumeration, std::int32_t value) {
  return enumeration == nullptr ? nullptr : vostok::c::constant_name(enumeration, value);
}
