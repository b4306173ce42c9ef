#include "bench/peers/cublas.hpp"

#include <limits>

namespace vostok::bench {

namespace cublas {

Api load_api() {
  const device::cuda::SharedObject library = open_peer_library({"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}, "libcublasLt.so.*");
  Api api;
#define VOSTOK_LOAD(symbol, ...) load(library, api.symbol);
  VOSTOK_CUBLAS_FUNCTIONS(VOSTOK_LOAD)
#undef VOSTOK_LOAD
  return api;
}

}  // namespace cublas

namespace {

using cublas::Status;

constexpr float one = 1.0F;
constexpr float zero = 0.0F;
/// What cuBLAS recommends on the newest GPUs. A workspace of ours keeps it from allocating while it is recorded.
constexpr std::int64_t workspace_bytes = 32LL << 20;

int narrow(std::int64_t size, const char* what) {
  if (size > std::numeric_limits<int>::max()) fail(ErrorCode::unsupported, "cannot run cuBLAS SGEMM: {} = {} is past 2^31 - 1", what, size);
  return static_cast<int>(size);
}

class Cublas : public Peer {
 public:
  Cublas(device::Device& device, const cublas::Api& api) : device_(device), api_(api), workspace_(device, workspace_bytes) {
    require(api_.cublasCreate_v2, &handle_);
    try {
      require(api_.cublasSetMathMode, handle_, cublas::MathMode::pedantic);
    } catch (...) {
      api_.cublasDestroy_v2(handle_);
      throw;
    }
  }
  ~Cublas() override { api_.cublasDestroy_v2(handle_); }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  std::string name() const override { return "cublas_sgemm"; }

  std::string version() const override {
    int version = 0;
    require(api_.cublasGetVersion_v2, handle_, &version);
    return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
  }

  std::vector<PeerRun> prepare(const PeerOperands& operands) override {
    return {prepare_run(name(), "pedantic", [&] {
      const sparse::Csr& matrix = *operands.matrix;
      const int m = narrow(matrix.rows, "m"), k = narrow(matrix.cols, "k"), n = narrow(operands.n, "n");
      auto dense_matrix = std::make_shared<const device::Buffer>(upload(matrix, operands.values));
      return [this, m, k, n, dense_matrix, dense = operands.dense, output = operands.output](Stream stream) {
        // Setting the stream takes cuBLAS back to a workspace of its own.
        require(api_.cublasSetStream_v2, handle_, stream);
        require(api_.cublasSetWorkspace_v2, handle_, workspace_.data(), static_cast<std::size_t>(workspace_.bytes()));
        // cuBLAS is column-major: the row-major C = A B is its C^T = B^T A^T.
        require(api_.cublasSgemm_v2, handle_, cublas::Operation::none, cublas::Operation::none, n, m, k, &one, dense, n,
                dense_matrix->as<const float>(), k, &zero, output, n);
      };
    })};
  }

 private:
  template <class... Parameters, class... Arguments>
  void require(const PeerFunction<Status, Parameters...>& function, Arguments... arguments) const {
    const Status status = function(arguments...);
    if (status != Status::success)
      fail(ErrorCode::device_failure, "cannot run cuBLAS: {} returned {} ({})", function.name, static_cast<int>(status),
           api_.cublasGetStatusString(status));
  }

  device::Buffer upload(const sparse::Csr& matrix, const float* device_values) const {
    std::vector<float> values(static_cast<std::size_t>(matrix.nonzeros()));
    device_.copy_to_host(values.data(), device_values, static_cast<std::int64_t>(values.size() * sizeof(float)));
    const std::vector<float> dense = to_dense(matrix, values);
    const auto bytes = static_cast<std::int64_t>(dense.size() * sizeof(float));
    device::Buffer buffer(device_, bytes);
    device_.copy_to_device(buffer.data(), dense.data(), bytes);
    return buffer;
  }

  device::Device& device_;
  cublas::Api api_;
  device::Buffer workspace_;
  cublas::Handle handle_ = nullptr;
};

}  // namespace

std::vector<float> to_dense(const sparse::Csr& matrix, const std::vector<float>& values) {
  std::vector<float> dense(static_cast<std::size_t>(matrix.rows * matrix.cols));
  for (std::int64_t row = 0; row < matrix.rows; ++row)
    for (std::int64_t i = matrix.row_offsets[static_cast<std::size_t>(row)]; i < matrix.row_offsets[static_cast<std::size_t>(row) + 1]; ++i)
      dense[static_cast<std::size_t>(row * matrix.cols + matrix.column_indices[static_cast<std::size_t>(i)])] += values[static_cast<std::size_t>(i)];
  return dense;
}

std::shared_ptr<Peer> open_cublas(device::Device& device) { return make_cublas(device, cublas::load_api()); }

std::shared_ptr<Peer> make_cublas(device::Device& device, const cublas::Api& api) { return std::make_shared<Cublas>(device, api); }

}  // namespace vostok::bench
