#include "bench/peers/cublas.hpp"

#include <algorithm>
#include <span>

#include "sparse/elements.hpp"

namespace vostok::bench {

namespace cublas {

Api load_api() {
  const device::cuda::SharedObject library = open_peer_library({"libcublas.so.13", "libcublas.so.12"}, "libcublasLt.so.*");
  Api api;
#define VOSTOK_LOAD(symbol, ...) load(library, api.symbol);
  VOSTOK_CUBLAS_FUNCTIONS(VOSTOK_LOAD)
#undef VOSTOK_LOAD
  return api;
}

}  // namespace cublas

namespace {

using cublas::Operation;
using cublas::Status;

constexpr float one = 1.0F;
constexpr float zero = 0.0F;
/// What cuBLAS recommends on the newest GPUs. A workspace of ours keeps it from allocating while it is recorded.
constexpr std::int64_t workspace_bytes = 32LL << 20;
/// TF32 keeps ten bits: half a unit each for two factors, and no averaging out for few products.
constexpr double tf32_tolerance = 2e-3;

/// How a product of one type is computed.
struct Mode {
  const char* peer;
  cublas::ComputeType compute;
  double tolerance;
};

std::vector<Mode> modes(Dtype element) {
  switch (element) {
    case Dtype::f32:
      return {{"cublas_sgemm", cublas::ComputeType::f32_pedantic, 0}, {"cublas_tf32", cublas::ComputeType::f32_fast_tf32, tf32_tolerance}};
    case Dtype::f16: return {{"cublas_f16", cublas::ComputeType::f32, 0}};
    case Dtype::bf16: return {{"cublas_bf16", cublas::ComputeType::f32, 0}};
  }
  return {};
}

cublas::DataType data_type(Dtype element) {
  switch (element) {
    case Dtype::f16: return cublas::DataType::f16;
    case Dtype::bf16: return cublas::DataType::bf16;
    default: return cublas::DataType::f32;
  }
}

/// A packed row-major operand, which cuBLAS reads as its transpose.
struct Operand {
  const void* data;
  std::int64_t row_length;
  Operation operation;
};

/// Row-major C[rows, columns] = A B as the column-major C^T = B^T A^T: the right operand comes first.
struct Product {
  std::int64_t rows, columns, inner;
  Operand left, right;
  void* output;
};

class Cublas : public Peer {
 public:
  Cublas(device::Device& device, const cublas::Api& api) : device_(device), api_(api), workspace_(device, workspace_bytes) {
    require(api_.cublasCreate_v2, &handle_);
  }
  ~Cublas() override { api_.cublasDestroy_v2(handle_); }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  std::string version() const override {
    int version = 0;
    require(api_.cublasGetVersion_v2, handle_, &version);
    return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
  }

  std::vector<PeerRun> prepare(const SpmmOperands& operands) override {
    const auto multiply = [&](const Mode& mode) {
      const sparse::Csr& matrix = *operands.matrix.host;
      const std::int64_t m = matrix.rows, k = matrix.cols, n = operands.n;
      auto dense_matrix = std::make_shared<const device::Buffer>(upload(matrix, operands));
      const Product product{.rows = operands.transposed ? k : m,
                            .columns = n,
                            .inner = operands.transposed ? m : k,
                            .left = {dense_matrix->data(), k, operands.transposed ? Operation::transpose : Operation::none},
                            .right = {operands.dense, n, Operation::none},
                            .output = operands.output};
      return [this, mode, product, dense_matrix, element = operands.element](Stream stream) { enqueue(stream, mode, element, product); };
    };
    return prepare_modes(operands.element, [&](const Mode& mode) { return prepare_run(mode.peer, "gemm", [&] { return multiply(mode); }); });
  }

  /// The whole dense product, into memory of its own; for verification its elements at the mask are copied to the output.
  std::vector<PeerRun> prepare(const SddmmOperands& operands) override {
    return prepare_modes(operands.element, [&](const Mode& mode) {
      std::function<void(Stream)> deliver;
      PeerRun run = prepare_run(mode.peer, "whole product", [&] {
        const sparse::Csr& mask = *operands.mask.host;
        const std::int64_t m = mask.rows, k = mask.cols, n = operands.n;
        auto whole = std::make_shared<const device::Buffer>(device_, mask.rows * mask.cols * size_of(operands.element));
        const Product product{.rows = m,
                              .columns = k,
                              .inner = n,
                              .left = {operands.lhs, n, Operation::none},
                              .right = {operands.rhs, n, Operation::transpose},
                              .output = whole->data()};
        deliver = [this, whole, operands](Stream stream) { sample(stream, *whole, operands); };
        return [this, mode, product, whole, element = operands.element](Stream stream) { enqueue(stream, mode, element, product); };
      });
      run.enqueue_and_deliver = [enqueue = run.enqueue, deliver](Stream stream) { enqueue(stream), deliver(stream); };
      return run;
    });
  }

 private:
  template <class Prepare>
  static std::vector<PeerRun> prepare_modes(Dtype element, const Prepare& prepare_mode) {
    std::vector<PeerRun> runs;
    for (const Mode& mode : modes(element)) {
      runs.push_back(prepare_mode(mode));
      runs.back().tolerance = mode.tolerance;
    }
    return runs;
  }

  template <class... Parameters, class... Arguments>
  void require(const PeerFunction<Status, Parameters...>& function, Arguments... arguments) const {
    const Status status = function(arguments...);
    if (status != Status::success)
      fail(ErrorCode::device_failure, "cannot run cuBLAS: {} returned {} ({})", function.name, static_cast<int>(status),
           api_.cublasGetStatusString(status));
  }

  void enqueue(Stream stream, const Mode& mode, Dtype element, const Product& product) const {
    // Setting the stream takes cuBLAS back to a workspace of its own.
    require(api_.cublasSetStream_v2, handle_, stream);
    require(api_.cublasSetWorkspace_v2, handle_, workspace_.data(), static_cast<std::size_t>(workspace_.bytes()));
    const cublas::DataType type = data_type(element);
    const Operand &first = product.right, &second = product.left;
    require(api_.cublasGemmEx_64, handle_, first.operation, second.operation, product.columns, product.rows, product.inner, &one, first.data, type,
            first.row_length, second.data, type, second.row_length, &zero, product.output, type, product.columns, mode.compute,
            cublas::Algorithm::automatic);
  }

  device::Buffer upload(const sparse::Csr& matrix, const SpmmOperands& operands) const {
    constexpr std::int64_t most_elements = std::int64_t{1} << 27;
    if (matrix.rows > most_elements / std::max<std::int64_t>(matrix.cols, 1))
      fail(ErrorCode::unsupported, "cannot run cuBLAS: a dense matrix of {} x {} is not made", matrix.rows, matrix.cols);
    std::vector<std::byte> stored(static_cast<std::size_t>(matrix.nonzeros() * size_of(operands.element)));
    if (!stored.empty()) device_.copy_to_host(stored.data(), operands.values, static_cast<std::int64_t>(stored.size()));
    const std::vector<float> dense = to_dense(matrix, sparse::from_storage(operands.element, stored));
    const std::vector<std::byte> bytes = sparse::to_storage(operands.element, dense);
    device::Buffer buffer(device_, static_cast<std::int64_t>(bytes.size()));
    device_.copy_to_device(buffer.data(), bytes.data(), buffer.bytes());
    return buffer;
  }

  void sample(Stream stream, const device::Buffer& whole, const SddmmOperands& operands) const {
    const sparse::Csr& mask = *operands.mask.host;
    const std::size_t element_bytes = static_cast<std::size_t>(size_of(operands.element));
    std::vector<std::byte> product(static_cast<std::size_t>(whole.bytes()));
    device_.copy_to_host(product.data(), whole.data(), whole.bytes(), stream);
    std::vector<std::byte> sampled;
    sampled.reserve(static_cast<std::size_t>(mask.nonzeros()) * element_bytes);
    for (std::int64_t row = 0; row < mask.rows; ++row) {
      for (std::int64_t i = mask.row_offsets[static_cast<std::size_t>(row)]; i < mask.row_offsets[static_cast<std::size_t>(row) + 1]; ++i) {
        const auto position = static_cast<std::size_t>(row * mask.cols + mask.column_indices[static_cast<std::size_t>(i)]);
        const std::span element(product.data() + position * element_bytes, element_bytes);
        sampled.insert(sampled.end(), element.begin(), element.end());
      }
    }
    if (!sampled.empty()) device_.copy_to_device(operands.output, sampled.data(), static_cast<std::int64_t>(sampled.size()));
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
