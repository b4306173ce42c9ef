#include "bench/peers/cublas.hpp"

#include <span>

#include "bench/peers/column_major.hpp"
#include "bench/peers/cublas_call.hpp"
#include "bench/peers/cublas_weights.hpp"
#include "bench/peers/rotation.hpp"
#include "bench/peers/split_numbers.hpp"

namespace vostok::bench {

namespace cublas {

Api load_api() {
  const device::cuda::SharedObject library =
      open_peer_library({"libcublas.so.13", "libcublas.so.12"}, "libcublasLt.so.*");
  Api api;
#define VOSTOK_LOAD(symbol, ...) load(library, api.symbol);
  VOSTOK_CUBLAS_FUNCTIONS(VOSTOK_LOAD)
#undef VOSTOK_LOAD
  return api;
}

}  // namespace cublas

namespace {

using cublas::Operation;
using cublas::Product;
using Call = std::function<void(Stream)>;

/// TF32 keeps ten bits: half a unit each for two factors, and no averaging out for few products.
constexpr double tf32_tolerance = 2e-3;
/// Two f16 keep 22 bits; what remains is that tensor cores cut sums off, which grows with their length.
constexpr double f16x3_tolerance = 5e-5;

/// How a product of one type is computed.
struct Mode {
  const char* peer;
  cublas::ComputeType compute;
  double tolerance;
};

std::vector<Mode> modes(Dtype element) {
  switch (element) {
    case Dtype::f32:
      return {{"cublas_sgemm", cublas::ComputeType::f32_pedantic, 0},
              {"cublas_tf32", cublas::ComputeType::f32_fast_tf32, tf32_tolerance}};
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

/// Of operands that all have the type of the mode; the output too.
Product typed(Product product, const Mode& mode, Dtype element) {
  product.input_type = product.output_type = data_type(element);
  product.compute = mode.compute;
  return product;
}

class Cublas : public Peer {
 public:
  Cublas(device::Device& device, const cublas::Api& api) : device_(device), calls_(device, api) {}

  std::string version() const override { return calls_.version(); }

  std::vector<PeerRun> prepare(const SpmmOperands& operands) override {
    cublas::Weights weights(device_, operands);
    std::vector<PeerRun> runs;
    for (const Mode& mode : modes(operands.element)) {
      runs.push_back(prepare_turns(mode.peer, "gemm", [&] {
        return turns(mode, operands, weights.dense(),
                     [this](Stream stream, const Product& product) { calls_.multiply(stream, product); });
      }));
      if (operands.n <= few_columns) runs.push_back(column_major(mode, operands, weights));
    }
    for (PeerRun& run : runs)
      for (const Mode& mode : modes(operands.element))
        if (run.peer == mode.peer) run.tolerance = mode.tolerance;
    if (operands.element == Dtype::f32 && !operands.transposed) add_three_products(operands, weights, runs);
    return runs;
  }

  /// The whole dense product, into memory of its own; for verification its elements at the mask are copied to the
  /// output.
  std::vector<PeerRun> prepare(const SddmmOperands& operands) override {
    std::vector<PeerRun> runs;
    for (const Mode& mode : modes(operands.element)) {
      Call deliver;
      PeerRun run = prepare_run(mode.peer, "whole product", [&]() -> Call {
        const sparse::Csr& mask = *operands.mask.host;
        auto whole = std::make_shared<const device::Buffer>(device_, mask.rows * mask.cols * size_of(operands.element));
        const Product product = typed({.rows = mask.rows,
                                       .columns = mask.cols,
                                       .inner = operands.n,
                                       .left = {operands.lhs, operands.n, Operation::none},
                                       .right = {operands.rhs, operands.n, Operation::transpose},
                                       .output = whole->data()},
                                      mode, operands.element);
        deliver = [this, whole, operands](Stream stream) { sample(stream, *whole, operands); };
        return [this, product, whole](Stream stream) { calls_.multiply(stream, product); };
      });
      run.enqueue_and_deliver = [enqueue = run.enqueue, deliver](Stream stream) { enqueue(stream), deliver(stream); };
      run.tolerance = mode.tolerance;
      runs.push_back(std::move(run));
    }
    return runs;
  }

 private:
  static Product spmm_product(const SpmmOperands& operands, const device::Buffer& dense) {
    const sparse::Csr& matrix = *operands.matrix.host;
    return {.rows = operands.transposed ? matrix.cols : matrix.rows,
            .columns = operands.n,
            .inner = operands.transposed ? matrix.rows : matrix.cols,
            .left = {dense.data(), matrix.cols, operands.transposed ? Operation::transpose : Operation::none},
            .right = {operands.dense, operands.n, Operation::none},
            .output = operands.output};
  }

  /// A call for each copy of the weights.
  template <class Multiply>
  static std::vector<Call> turns(const Mode& mode, const SpmmOperands& operands, const cublas::Weights::Copies& copies,
                                 const Multiply& multiply) {
    std::vector<Call> calls;
    for (const auto& copy : copies)
      calls.emplace_back([copy, multiply, product = typed(spmm_product(operands, *copy), mode, operands.element)](
                             Stream stream) { multiply(stream, product); });
    return calls;
  }

  /// B and C as columns: what few columns are fastest with. Turning them is not timed.
  PeerRun column_major(const Mode& mode, const SpmmOperands& operands, cublas::Weights& weights) const {
    Call deliver;
    PeerRun run = prepare_turns(mode.peer, "column-major", [&] {
      auto columns = std::make_shared<const ColumnMajor>(device_, operands);
      deliver = [columns](Stream stream) { columns->deliver(stream); };
      return turns(mode, operands, weights.dense(), [this, columns](Stream stream, Product product) {
        product.right.data = columns->dense();
        product.output = columns->output();
        calls_.multiply_columns(stream, product);
      });
    });
    if (deliver)
      run.enqueue_and_deliver = [enqueue = run.enqueue, deliver](Stream stream) { enqueue(stream), deliver(stream); };
    return run;
  }

  /// A = [hi hi lo] and B = [hi; lo; hi] in f16: three products that add up, or one of three times the length.
  void add_three_products(const SpmmOperands& operands, cublas::Weights& weights, std::vector<PeerRun>& runs) {
    const sparse::Csr& matrix = *operands.matrix.host;
    const std::int64_t k = matrix.cols, terms = k * operands.n;
    const auto add = [&](const char* variant, int products) {
      runs.push_back(prepare_turns("cublas_f16x3", variant, [&] {
        auto splitter = std::make_shared<const NumberSplitter>(device_);
        auto split = std::make_shared<const device::Buffer>(
            device_, 3 * terms * static_cast<std::int64_t>(sizeof(std::uint16_t)));
        std::vector<Call> turns;
        for (const auto& copy : weights.three_terms())
          turns.emplace_back([this, splitter, split, copy, operands, terms, k, products,
                              rows = matrix.rows](Stream stream) {
            splitter->enqueue(stream, static_cast<const float*>(operands.dense), terms, split->as<std::uint16_t>());
            // The smallest products come first.
            for (int i = products - 1; i >= 0; --i)
              calls_.multiply(stream, {.rows = rows,
                                       .columns = operands.n,
                                       .inner = 3 / products * k,
                                       .left = {copy->as<std::uint16_t>() + i * k, 3 * k, Operation::none},
                                       .right = {split->as<std::uint16_t>() + i * terms, operands.n, Operation::none},
                                       .output = operands.output,
                                       .input_type = cublas::DataType::f16,
                                       .output_type = cublas::DataType::f32,
                                       .compute = cublas::ComputeType::f32,
                                       .accumulate = i < products - 1});
          });
        return turns;
      }));
      runs.back().tolerance = f16x3_tolerance;
    };
    add("three products", 3);
    add("one product", 1);
  }

  void sample(Stream stream, const device::Buffer& whole, const SddmmOperands& operands) const {
    const sparse::Csr& mask = *operands.mask.host;
    const std::size_t element_bytes = static_cast<std::size_t>(size_of(operands.element));
    std::vector<std::byte> product(static_cast<std::size_t>(whole.bytes()));
    device_.copy_to_host(product.data(), whole.data(), whole.bytes(), stream);
    std::vector<std::byte> sampled;
    sampled.reserve(static_cast<std::size_t>(mask.nonzeros()) * element_bytes);
    for (std::int64_t row = 0; row < mask.rows; ++row) {
      for (std::int64_t i = mask.row_offsets[static_cast<std::size_t>(row)];
           i < mask.row_offsets[static_cast<std::size_t>(row) + 1]; ++i) {
        const auto position =
            static_cast<std::size_t>(row * mask.cols + mask.column_indices[static_cast<std::size_t>(i)]);
        const std::span element(product.data() + position * element_bytes, element_bytes);
        sampled.insert(sampled.end(), element.begin(), element.end());
      }
    }
    if (!sampled.empty())
      device_.copy_to_device(operands.output, sampled.data(), static_cast<std::int64_t>(sampled.size()));
  }

  device::Device& device_;
  cublas::Calls calls_;
};

}  // namespace

std::shared_ptr<Peer> open_cublas(device::Device& device) { return make_cublas(device, cublas::load_api()); }

std::shared_ptr<Peer> make_cublas(device::Device& device, const cublas::Api& api) {
  return std::make_shared<Cublas>(device, api);
}

}  // namespace vostok::bench
