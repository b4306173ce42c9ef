// cuSPARSE's functions on the host, as its documentation has them.
#pragma once

#include "bench/peers/cusparse_api.hpp"
#include "unit/bench/host_elements.hpp"

namespace vostok::bench::host_cusparse {

using namespace cusparse;

struct Csr {
  std::int64_t rows, cols, nonzeros;
  const std::int32_t *offsets, *columns;
  void* values;
  Dtype type;
  SpmmAlgorithm prepared;
};
struct Dense {
  std::int64_t rows, cols, leading;
  void* values;
  Dtype type;
  float at(std::int64_t row, std::int64_t column) const { return host::read(values, type, row * leading + column); }
};
constexpr std::size_t scratch_bytes = 64;
constexpr auto mistake = static_cast<Status>(3);

inline Status create(Handle* handle) { return *handle = new int, Status::success; }
inline Status destroy(Handle handle) { return delete static_cast<int*>(handle), Status::success; }
inline Status version(Handle, int* value) { return *value = 12603, Status::success; }
inline const char* text(Status) { return "host"; }
inline Status set_stream(Handle, StreamHandle) { return Status::success; }
inline Status create_csr(SparseMatrix* matrix, std::int64_t rows, std::int64_t cols, std::int64_t nonzeros,
                         void* offsets, void* columns, void* values, IndexWidth, IndexWidth, IndexBase, DataType type) {
  *matrix = new Csr{rows,
                    cols,
                    nonzeros,
                    static_cast<std::int32_t*>(offsets),
                    static_cast<std::int32_t*>(columns),
                    values,
                    host::element(type),
                    {}};
  return Status::success;
}
inline Status destroy_csr(const void* matrix) { return delete static_cast<const Csr*>(matrix), Status::success; }
inline Status create_dense(DenseMatrix* matrix, std::int64_t rows, std::int64_t cols, std::int64_t leading,
                           void* values, DataType type, Order order) {
  if (order != Order::row || leading < cols) return mistake;
  return *matrix = new Dense{rows, cols, leading, values, host::element(type)}, Status::success;
}
inline Status destroy_dense(const void* matrix) { return delete static_cast<const Dense*>(matrix), Status::success; }

inline bool scales_by(const void* alpha, const void* beta) {
  return *static_cast<const float*>(alpha) == 1 && *static_cast<const float*>(beta) == 0;
}

inline Status spmm_buffer(Handle, Operation, Operation, const void*, const void*, const void*, const void*, DenseMatrix,
                          DataType, SpmmAlgorithm, std::size_t* bytes) {
  return *bytes = scratch_bytes, Status::success;
}
/// One algorithm has nothing to prepare, one is not there at all.
inline Status spmm_preprocess(Handle, Operation, Operation, const void*, const void* a, const void*, const void*,
                              DenseMatrix, DataType, SpmmAlgorithm algorithm, void* scratch) {
  if (algorithm == SpmmAlgorithm::csr_alg3) return mistake;
  if (algorithm == SpmmAlgorithm::csr_alg2) return Status::not_supported;
  const_cast<Csr*>(static_cast<const Csr*>(a))->prepared = algorithm;  // NOLINT: as the library does
  return scratch == nullptr ? mistake : Status::success;
}
inline Status spmm(Handle, Operation op_a, Operation op_b, const void* alpha, const void* a, const void* b,
                   const void* beta, DenseMatrix c, DataType compute, SpmmAlgorithm algorithm, void* scratch) {
  const Csr& csr = *static_cast<const Csr*>(a);
  const Dense& in = *static_cast<const Dense*>(b);
  const Dense& out = *static_cast<const Dense*>(c);
  const bool turned = op_a == Operation::transpose;
  const bool ready = algorithm == SpmmAlgorithm::csr_alg2 || csr.prepared == algorithm;
  if (!ready || scratch == nullptr || op_b != Operation::non_transpose || compute != DataType::f32 ||
      !scales_by(alpha, beta))
    return mistake;
  if ((turned ? csr.rows : csr.cols) != in.rows || (turned ? csr.cols : csr.rows) != out.rows || in.cols != out.cols)
    return mistake;
  if (csr.nonzeros != csr.offsets[csr.rows] || csr.type != in.type || csr.type != out.type) return mistake;
  for (std::int64_t column = 0; column < in.cols; ++column) {
    std::vector<float> sums(static_cast<std::size_t>(out.rows));
    for (std::int64_t row = 0; row < csr.rows; ++row)
      for (std::int32_t i = csr.offsets[row]; i < csr.offsets[row + 1]; ++i)
        sums[static_cast<std::size_t>(turned ? csr.columns[i] : row)] +=
            host::read(csr.values, csr.type, i) * in.at(turned ? row : csr.columns[i], column);
    for (std::int64_t row = 0; row < out.rows; ++row)
      host::write(out.values, out.type, row * out.leading + column, sums[static_cast<std::size_t>(row)]);
  }
  return Status::success;
}

inline Status sddmm_buffer(Handle, Operation, Operation, const void*, const void*, const void*, const void*,
                           SparseMatrix, DataType, SddmmAlgorithm, std::size_t* bytes) {
  return *bytes = scratch_bytes, Status::success;
}
inline Status sddmm_preprocess(Handle, Operation, Operation, const void*, const void*, const void*, const void*,
                               SparseMatrix c, DataType, SddmmAlgorithm, void* scratch) {
  static_cast<Csr*>(c)->prepared = SpmmAlgorithm::csr_alg1;
  return scratch == nullptr ? mistake : Status::success;
}
/// Reads C although beta is 0, as a library may.
inline Status sddmm(Handle, Operation op_a, Operation op_b, const void* alpha, const void* a, const void* b,
                    const void* beta, SparseMatrix c, DataType compute, SddmmAlgorithm, void* scratch) {
  const Dense& lhs = *static_cast<const Dense*>(a);
  const Dense& rhs = *static_cast<const Dense*>(b);
  const Csr& out = *static_cast<const Csr*>(c);
  if (op_a != Operation::non_transpose || op_b != Operation::transpose || compute != DataType::f32 ||
      scratch == nullptr)
    return mistake;
  if (out.prepared != SpmmAlgorithm::csr_alg1 || !scales_by(alpha, beta) || lhs.cols != rhs.cols ||
      lhs.rows != out.rows || rhs.rows != out.cols)
    return mistake;
  for (std::int64_t row = 0; row < out.rows; ++row) {
    for (std::int32_t i = out.offsets[row]; i < out.offsets[row + 1]; ++i) {
      float sum = 0;
      for (std::int64_t j = 0; j < lhs.cols; ++j) sum += lhs.at(row, j) * rhs.at(out.columns[i], j);
      host::write(out.values, out.type, i,
                  sum + *static_cast<const float*>(beta) * host::read(out.values, out.type, i));
    }
  }
  return Status::success;
}

inline Api table() {
  Api api;
  api.cusparseCreate.address = create;
  api.cusparseDestroy.address = destroy;
  api.cusparseGetVersion.address = version;
  api.cusparseGetErrorString.address = text;
  api.cusparseSetStream.address = set_stream;
  api.cusparseCreateCsr.address = create_csr;
  api.cusparseDestroySpMat.address = destroy_csr;
  api.cusparseCreateDnMat.address = create_dense;
  api.cusparseDestroyDnMat.address = destroy_dense;
  api.cusparseSpMM_bufferSize.address = spmm_buffer;
  api.cusparseSpMM_preprocess.address = spmm_preprocess;
  api.cusparseSpMM.address = spmm;
  api.cusparseSDDMM_bufferSize.address = sddmm_buffer;
  api.cusparseSDDMM_preprocess.address = sddmm_preprocess;
  api.cusparseSDDMM.address = sddmm;
  return api;
}

}  // namespace vostok::bench::host_cusparse
