// cuBLAS's functions on the host, as its documentation has them.
#pragma once

#include "bench/peers/cublas_api.hpp"
#include "unit/bench/host_elements.hpp"

namespace vostok::bench::host_cublas {

using namespace cublas;

struct Context {
  bool has_workspace = false;
};

inline Status create(Handle* handle) { return *handle = new Context, Status::success; }
inline Status destroy(Handle handle) { return delete static_cast<Context*>(handle), Status::success; }
inline Status version(Handle, int* value) { return *value = 130100, Status::success; }
inline const char* text(Status) { return "host"; }
inline Status set_stream(Handle handle, StreamHandle) {
  return static_cast<Context*>(handle)->has_workspace = false, Status::success;
}
inline Status set_workspace(Handle handle, void* memory, std::size_t bytes) {
  static_cast<Context*>(handle)->has_workspace = memory != nullptr && bytes > 0;
  return Status::success;
}

/// Column-major, C[rows, cols] = alpha op(A)[rows, inner] op(B)[inner, cols] + beta C. TF32 keeps ten bits, as f16 does
/// for numbers near 1.
inline Status gemm(Handle handle, Operation op_a, Operation op_b, std::int64_t rows, std::int64_t cols,
                   std::int64_t inner, const void* alpha, const void* a, DataType type_a, std::int64_t lda,
                   const void* b, DataType type_b, std::int64_t ldb, const void* beta, void* c, DataType type_c,
                   std::int64_t ldc, ComputeType compute, Algorithm) {
  if (!static_cast<Context*>(handle)->has_workspace || type_a != type_b ||
      (type_c != DataType::f32 && type_a != type_c))
    return static_cast<Status>(1);
  if ((type_a == DataType::f32) == (compute == ComputeType::f32)) return static_cast<Status>(15);
  if (lda < (op_a == Operation::none ? rows : inner) || ldb < (op_b == Operation::none ? inner : cols) || ldc < rows)
    return static_cast<Status>(7);
  const float kept = *static_cast<const float*>(beta);
  if (*static_cast<const float*>(alpha) != 1 || (kept != 0 && kept != 1)) return static_cast<Status>(7);
  const Dtype type = host::element(type_a), type_of_sums = host::element(type_c);
  const auto round = [&](float value) {
    return compute == ComputeType::f32_fast_tf32 ? sparse::round_to(Dtype::f16, value) : value;
  };
  for (std::int64_t column = 0; column < cols; ++column) {
    for (std::int64_t row = 0; row < rows; ++row) {
      float sum = kept == 0 ? 0 : host::read(c, type_of_sums, row + column * ldc);
      for (std::int64_t i = 0; i < inner; ++i)
        sum += round(host::read(a, type, op_a == Operation::none ? row + i * lda : i + row * lda)) *
               round(host::read(b, type, op_b == Operation::none ? i + column * ldb : column + i * ldb));
      host::write(c, type_of_sums, row + column * ldc, sum);
    }
  }
  return Status::success;
}

inline Api table() {
  Api api;
  api.cublasCreate_v2.address = create;
  api.cublasDestroy_v2.address = destroy;
  api.cublasGetVersion_v2.address = version;
  api.cublasGetStatusString.address = text;
  api.cublasSetStream_v2.address = set_stream;
  api.cublasSetWorkspace_v2.address = set_workspace;
  api.cublasGemmEx_64.address = gemm;
  return api;
}

}  // namespace vostok::bench::host_cublas
