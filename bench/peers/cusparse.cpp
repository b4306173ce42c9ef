#include "bench/peers/cusparse.hpp"

#include <algorithm>
#include <utility>

namespace vostok::bench {

namespace cusparse {

Api load_api() {
  const device::cuda::SharedObject library = open_peer_library({"libcusparse.so.13", "libcusparse.so.12", "libcusparse.so"}, "libnvJitLink.so.*");
  Api api;
#define VOSTOK_LOAD(symbol, ...) load(library, api.symbol);
  VOSTOK_CUSPARSE_FUNCTIONS(VOSTOK_LOAD)
#undef VOSTOK_LOAD
  return api;
}

}  // namespace cusparse

namespace {

using cusparse::Api;
using cusparse::Status;

constexpr float one = 1.0F;
constexpr float zero = 0.0F;

void check(const Api& api, const char* function, Status status) {
  if (status == Status::success) return;
  fail(ErrorCode::device_failure, "cannot run cuSPARSE: {} returned {} ({})", function, static_cast<int>(status), api.cusparseGetErrorString(status));
}

/// Calls a function and throws unless it succeeds.
template <class... Parameters, class... Arguments>
void require(const Api& api, const PeerFunction<Status, Parameters...>& function, Arguments... arguments) {
  check(api, function.name, function(arguments...));
}

/// Descriptors take inputs through pointers to non-const.
void* only_read(const void* input) { return const_cast<void*>(input); }  // NOLINT

/// The descriptors and the scratch memory of one algorithm. An algorithm's preprocessing belongs to its own descriptor.
class Product {
 public:
  Product(device::Device& device, const Api& api, cusparse::Handle handle, const PeerOperands& operands, cusparse::SpmmAlgorithm algorithm)
      : api_(api), handle_(handle), algorithm_(algorithm) {
    try {
      describe(operands);
      prepare(device);
    } catch (...) {
      destroy();
      throw;
    }
  }
  ~Product() { destroy(); }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  void enqueue(Stream stream) const {
    require(api_, api_.cusparseSetStream, handle_, stream);
    check(api_, api_.cusparseSpMM.name, call(api_.cusparseSpMM, scratch_.data()));
  }

 private:
  void describe(const PeerOperands& operands) {
    const sparse::Csr& matrix = *operands.matrix;
    require(api_, api_.cusparseCreateCsr, &sparse_, matrix.rows, matrix.cols, matrix.nonzeros(), only_read(operands.row_offsets),
            only_read(operands.column_indices), only_read(operands.values), cusparse::IndexWidth::i32, cusparse::IndexWidth::i32,
            cusparse::IndexBase::zero, cusparse::DataType::f32);
    require(api_, api_.cusparseCreateDnMat, &dense_, matrix.cols, operands.n, operands.n, only_read(operands.dense), cusparse::DataType::f32,
            cusparse::Order::row);
    require(api_, api_.cusparseCreateDnMat, &output_, matrix.rows, operands.n, operands.n, operands.output, cusparse::DataType::f32,
            cusparse::Order::row);
  }

  void prepare(device::Device& device) {
    std::size_t scratch_bytes = 0;
    check(api_, api_.cusparseSpMM_bufferSize.name, call(api_.cusparseSpMM_bufferSize, &scratch_bytes));
    scratch_ = device::Buffer(device, static_cast<std::int64_t>(std::max<std::size_t>(scratch_bytes, 1)));
    require(api_, api_.cusparseSetStream, handle_, device.own_stream());
    // Not every algorithm has something to prepare in every version.
    const Status prepared = call(api_.cusparseSpMM_preprocess, scratch_.data());
    if (prepared != Status::not_supported) check(api_, api_.cusparseSpMM_preprocess.name, prepared);
    device.synchronize(device.own_stream());
  }

  template <class Function, class Last>
  Status call(const Function& function, Last last) const {
    return function(handle_, cusparse::Operation::non_transpose, cusparse::Operation::non_transpose, &one, sparse_, dense_, &zero, output_,
                    cusparse::DataType::f32, algorithm_, last);
  }

  void destroy() noexcept {
    if (sparse_ != nullptr) api_.cusparseDestroySpMat(sparse_);
    if (dense_ != nullptr) api_.cusparseDestroyDnMat(dense_);
    if (output_ != nullptr) api_.cusparseDestroyDnMat(output_);
  }

  const Api& api_;
  cusparse::Handle handle_;
  cusparse::SpmmAlgorithm algorithm_;
  cusparse::SparseMatrix sparse_ = nullptr;
  cusparse::DenseMatrix dense_ = nullptr;
  cusparse::DenseMatrix output_ = nullptr;
  device::Buffer scratch_;
};

class Cusparse : public Peer {
 public:
  Cusparse(device::Device& device, const Api& api) : device_(device), api_(api) { require(api_, api_.cusparseCreate, &handle_); }
  ~Cusparse() override { api_.cusparseDestroy(handle_); }
  Cusparse(const Cusparse&) = delete;
  Cusparse& operator=(const Cusparse&) = delete;

  std::string name() const override { return "cusparse"; }

  std::string version() const override {
    int version = 0;
    require(api_, api_.cusparseGetVersion, handle_, &version);
    return fmt::format("{}.{}.{}", version / 1000, version % 1000 / 100, version % 100);
  }

  std::vector<PeerRun> prepare(const PeerOperands& operands) override {
    constexpr std::pair<const char*, cusparse::SpmmAlgorithm> algorithms[] = {{"csr_alg1", cusparse::SpmmAlgorithm::csr_alg1},
                                                                              {"csr_alg2", cusparse::SpmmAlgorithm::csr_alg2},
                                                                              {"csr_alg3", cusparse::SpmmAlgorithm::csr_alg3}};
    std::vector<PeerRun> runs;
    for (const auto& [variant, algorithm] : algorithms) {
      runs.push_back(prepare_run(name(), variant, [&, chosen = algorithm] {
        auto product = std::make_shared<const Product>(device_, api_, handle_, operands, chosen);
        return [product](Stream stream) { product->enqueue(stream); };
      }));
    }
    return runs;
  }

 private:
  device::Device& device_;
  Api api_;
  cusparse::Handle handle_ = nullptr;
};

}  // namespace

std::shared_ptr<Peer> open_cusparse(device::Device& device) { return make_cusparse(device, cusparse::load_api()); }

std::shared_ptr<Peer> make_cusparse(device::Device& device, const cusparse::Api& api) { return std::make_shared<Cusparse>(device, api); }

}  // namespace vostok::bench
