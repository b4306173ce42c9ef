#include "bench/peers/cusparse_call.hpp"

#include <algorithm>

namespace vostok::bench::cusparse {

namespace {

/// Descriptors take inputs through pointers to non-const.
void* only_read(const void* input) { return const_cast<void*>(input); }  // NOLINT

}  // namespace

void check(const Api& api, const char* function, Status status) {
  if (status == Status::success) return;
  fail(ErrorCode::device_failure, "cannot run cuSPARSE: {} returned {} ({})", function, static_cast<int>(status),
       api.cusparseGetErrorString(status));
}

DataType data_type(Dtype element) {
  switch (element) {
    case Dtype::f16: return DataType::f16;
    case Dtype::bf16: return DataType::bf16;
    default: return DataType::f32;
  }
}

Descriptor describe_sparse(const Api& api, const PeerMatrix& matrix, const void* values, Dtype element) {
  SparseMatrix described = nullptr;
  require(api, api.cusparseCreateCsr, &described, matrix.host->rows, matrix.host->cols, matrix.host->nonzeros(),
          only_read(matrix.row_offsets), only_read(matrix.column_indices), only_read(values), IndexWidth::i32,
          IndexWidth::i32, IndexBase::zero, data_type(element));
  return {described, [&api](void* descriptor) { api.cusparseDestroySpMat(descriptor); }};
}

Descriptor describe_dense(const Api& api, std::int64_t rows, std::int64_t cols, const void* values, Dtype element) {
  DenseMatrix described = nullptr;
  require(api, api.cusparseCreateDnMat, &described, rows, cols, cols, only_read(values), data_type(element),
          Order::row);
  return {described, [&api](void* descriptor) { api.cusparseDestroyDnMat(descriptor); }};
}

device::Buffer make_scratch(device::Device& device, std::size_t bytes) {
  return {device, static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1))};
}

}  // namespace vostok::bench::cusparse
