// The peers' calls, made to host functions that follow the libraries' documentation: layouts, sizes and order are right when
// the product is.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/peers/cublas.hpp"
#include "bench/peers/cusparse.hpp"
#include "sparse/generate.hpp"
#include "sparse/reference.hpp"
#include "unit/fakes/fake_device.hpp"

namespace vostok::bench {
namespace {

constexpr std::int64_t m = 37, k = 23, n = 11;
constexpr std::uint64_t seed = 5;

/// A small product in "device" memory, which is the host's.
struct Product {
  sparse::Csr matrix = sparse::uniform(m, k, 0.7, seed);
  std::vector<float> values = sparse::normal_values(matrix.nonzeros(), seed);
  std::vector<float> dense = sparse::normal_values(k * n, seed + 1);
  std::vector<float> output = std::vector<float>(static_cast<std::size_t>(m * n), 99.0F);
  std::vector<std::int32_t> offsets{matrix.row_offsets.begin(), matrix.row_offsets.end()};

  PeerOperands operands() {
    return {.matrix = &matrix,
            .n = n,
            .row_offsets = offsets.data(),
            .column_indices = matrix.column_indices.data(),
            .values = values.data(),
            .dense = dense.data(),
            .output = output.data()};
  }
  double error() const { return sparse::relative_error(output, n, sparse::spmm(matrix, values, dense, n, n), m, n); }
};

namespace host_cublas {

using namespace cublas;

struct Context {
  MathMode math{};
  bool has_workspace = false;
};

Status create(Handle* handle) { return *handle = new Context, Status::success; }
Status destroy(Handle handle) { return delete static_cast<Context*>(handle), Status::success; }
Status version(Handle, int* value) { return *value = 130100, Status::success; }
const char* text(Status) { return "host"; }
Status set_stream(Handle handle, StreamHandle) { return static_cast<Context*>(handle)->has_workspace = false, Status::success; }
Status set_workspace(Handle handle, void* memory, std::size_t bytes) {
  static_cast<Context*>(handle)->has_workspace = memory != nullptr && bytes > 0;
  return Status::success;
}
Status set_math(Handle handle, MathMode mode) { return static_cast<Context*>(handle)->math = mode, Status::success; }

/// Column-major, C[rows, cols] = alpha A[rows, inner] B[inner, cols] + beta C, as documented.
Status sgemm(Handle handle, Operation, Operation, int rows, int cols, int inner, const float* alpha, const float* a, int lda, const float* b, int ldb,
             const float* beta, float* c, int ldc) {
  const Context& context = *static_cast<Context*>(handle);
  if (context.math != MathMode::pedantic || !context.has_workspace) return static_cast<Status>(1);
  if (lda < rows || ldb < inner || ldc < rows) return static_cast<Status>(7);
  for (int column = 0; column < cols; ++column) {
    for (int row = 0; row < rows; ++row) {
      float sum = 0;
      for (int i = 0; i < inner; ++i) sum += a[row + i * lda] * b[i + column * ldb];
      float& out = c[row + column * ldc];
      out = *alpha * sum + (*beta == 0 ? 0 : *beta * out);
    }
  }
  return Status::success;
}

Api table() {
  Api api;
  api.cublasCreate_v2.address = create;
  api.cublasDestroy_v2.address = destroy;
  api.cublasGetVersion_v2.address = version;
  api.cublasGetStatusString.address = text;
  api.cublasSetStream_v2.address = set_stream;
  api.cublasSetWorkspace_v2.address = set_workspace;
  api.cublasSetMathMode.address = set_math;
  api.cublasSgemm_v2.address = sgemm;
  return api;
}

}  // namespace host_cublas

namespace host_cusparse {

using namespace cusparse;

struct Csr {
  std::int64_t rows, cols, nonzeros;
  const std::int32_t *offsets, *columns;
  const float* values;
  SpmmAlgorithm prepared;
};
struct Dense {
  std::int64_t rows, cols, leading;
  float* values;
};
constexpr std::size_t scratch_bytes = 64;
constexpr auto mistake = static_cast<Status>(3);

Status create(Handle* handle) { return *handle = new int, Status::success; }
Status destroy(Handle handle) { return delete static_cast<int*>(handle), Status::success; }
Status version(Handle, int* value) { return *value = 12603, Status::success; }
const char* text(Status) { return "host"; }
Status set_stream(Handle, StreamHandle) { return Status::success; }
Status create_csr(SparseMatrix* matrix, std::int64_t rows, std::int64_t cols, std::int64_t nonzeros, void* offsets, void* columns, void* values,
                  IndexWidth, IndexWidth, IndexBase, DataType) {
  *matrix = new Csr{rows, cols, nonzeros, static_cast<std::int32_t*>(offsets), static_cast<std::int32_t*>(columns), static_cast<float*>(values), {}};
  return Status::success;
}
Status destroy_csr(const void* matrix) { return delete static_cast<const Csr*>(matrix), Status::success; }
Status create_dense(DenseMatrix* matrix, std::int64_t rows, std::int64_t cols, std::int64_t leading, void* values, DataType, Order order) {
  if (order != Order::row || leading < cols) return mistake;
  return *matrix = new Dense{rows, cols, leading, static_cast<float*>(values)}, Status::success;
}
Status destroy_dense(const void* matrix) { return delete static_cast<const Dense*>(matrix), Status::success; }
Status buffer_size(Handle, Operation, Operation, const void*, const void*, const void*, const void*, DenseMatrix, DataType, SpmmAlgorithm,
                   std::size_t* bytes) {
  return *bytes = scratch_bytes, Status::success;
}
/// One algorithm has nothing to prepare, one is not there at all.
Status preprocess(Handle, Operation, Operation, const void*, const void* a, const void*, const void*, DenseMatrix, DataType, SpmmAlgorithm algorithm,
                  void* scratch) {
  if (algorithm == SpmmAlgorithm::csr_alg3) return mistake;
  if (algorithm == SpmmAlgorithm::csr_alg2) return Status::not_supported;
  const_cast<Csr*>(static_cast<const Csr*>(a))->prepared = algorithm;  // NOLINT: as the library does
  return scratch == nullptr ? mistake : Status::success;
}
Status multiply(Handle, Operation, Operation, const void* alpha, const void* a, const void* b, const void* beta, DenseMatrix c, DataType,
                SpmmAlgorithm algorithm, void* scratch) {
  const Csr& csr = *static_cast<const Csr*>(a);
  const Dense& in = *static_cast<const Dense*>(b);
  const Dense& out = *static_cast<const Dense*>(c);
  const bool ready = algorithm == SpmmAlgorithm::csr_alg2 || csr.prepared == algorithm;
  if (!ready || scratch == nullptr || csr.cols != in.rows || csr.rows != out.rows || in.cols != out.cols || csr.nonzeros != csr.offsets[csr.rows])
    return mistake;
  if (*static_cast<const float*>(alpha) != 1 || *static_cast<const float*>(beta) != 0) return mistake;
  for (std::int64_t row = 0; row < csr.rows; ++row) {
    for (std::int64_t column = 0; column < in.cols; ++column) {
      float sum = 0;
      for (std::int32_t i = csr.offsets[row]; i < csr.offsets[row + 1]; ++i) sum += csr.values[i] * in.values[csr.columns[i] * in.leading + column];
      out.values[row * out.leading + column] = sum;
    }
  }
  return Status::success;
}

Api table() {
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
  api.cusparseSpMM_bufferSize.address = buffer_size;
  api.cusparseSpMM_preprocess.address = preprocess;
  api.cusparseSpMM.address = multiply;
  return api;
}

}  // namespace host_cusparse

TEST_CASE("cuBLAS is given the sparse matrix stored dense, in an order that makes the row-major product") {
  test::FakeDevice device;
  {
    const auto peer = make_cublas(device, host_cublas::table());
    CHECK(peer->version() == "13.1.0");
    Product product;
    const auto runs = peer->prepare(product.operands());
    REQUIRE(runs.size() == 1);
    REQUIRE(runs.front().failure.empty());
    runs.front().enqueue(nullptr);
    CHECK(product.error() < 1e-6);
  }
  CHECK(device.allocations_alive == 0);
}

TEST_CASE("cuSPARSE runs each algorithm with its own preparation, and one that it refuses fails alone") {
  test::FakeDevice device;
  {
    const auto peer = make_cusparse(device, host_cusparse::table());
    CHECK(peer->version() == "12.6.3");
    Product product;
    const auto runs = peer->prepare(product.operands());
    REQUIRE(runs.size() == 3);
    for (const std::size_t i : {0, 1}) {
      CAPTURE(runs[i].variant);
      REQUIRE(runs[i].failure.empty());
      std::fill(product.output.begin(), product.output.end(), 99.0F);
      runs[i].enqueue(nullptr);
      CHECK(product.error() < 1e-6);
    }
    CHECK(runs[2].failure.find("cusparseSpMM_preprocess returned 3 (host)") != std::string::npos);
  }
  CHECK(device.allocations_alive == 0);
}

}  // namespace
}  // namespace vostok::bench
