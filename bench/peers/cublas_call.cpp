#include "bench/peers/cublas_call.hpp"

#include "base/text.hpp"

namespace vostok::bench::cublas {

namespace {

constexpr float one = 1.0F;
constexpr float zero = 0.0F;
/// What cuBLAS recommends on the newest GPUs. A workspace of ours keeps it from allocating while it is recorded.
constexpr std::int64_t workspace_bytes = 32LL << 20;

Operation turned(Operation operation) { return operation == Operation::none ? Operation::transpose : Operation::none; }

}  // namespace

Calls::Calls(device::Device& device, const Api& api) : api_(api), workspace_(device, workspace_bytes) {
  require(api_.cublasCreate_v2, &handle_);
}

Calls::~Calls() { api_.cublasDestroy_v2(handle_); }

std::string Calls::version() const {
  int version = 0;
  require(api_.cublasGetVersion_v2, handle_, &version);
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

void Calls::multiply(Stream stream, const Product& product) const {
  prepare(stream);
  const Operand &first = product.right, &second = product.left;
  require(api_.cublasGemmEx_64, handle_, first.operation, second.operation, product.columns, product.rows,
          product.inner, &one, first.data, product.input_type, first.row_length, second.data, product.input_type,
          second.row_length, product.accumulate ? &one : &zero, product.output, product.output_type, product.columns,
          product.compute, Algorithm::automatic);
}

void Calls::multiply_columns(Stream stream, const Product& product) const {
  prepare(stream);
  const Operand &first = product.left, &second = product.right;
  require(api_.cublasGemmEx_64, handle_, turned(first.operation), Operation::none, product.rows, product.columns,
          product.inner, &one, first.data, product.input_type, first.row_length, second.data, product.input_type,
          product.inner, product.accumulate ? &one : &zero, product.output, product.output_type, product.rows,
          product.compute, Algorithm::automatic);
}

template <class... Parameters, class... Arguments>
void Calls::require(const PeerFunction<Status, Parameters...>& function, Arguments... arguments) const {
  const Status status = function(arguments...);
  if (status != Status::success)
    fail(ErrorCode::device_failure, "cannot run cuBLAS: {} returned {} ({})", function.name, static_cast<int>(status),
         api_.cublasGetStatusString(status));
}

/// Setting the stream takes cuBLAS back to a workspace of its own.
void Calls::prepare(Stream stream) const {
  require(api_.cublasSetStream_v2, handle_, stream);
  require(api_.cublasSetWorkspace_v2, handle_, workspace_.data(), static_cast<std::size_t>(workspace_.bytes()));
}

}  // namespace vostok::bench::cublas
