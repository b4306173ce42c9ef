#include "bench/peers/cusparse_spmm.hpp"

#include <utility>

#include "bench/peers/rotation.hpp"

namespace vostok::bench::cusparse {

namespace {

/// The operands with a sparse matrix of their own, or with the given one.
struct Copy {
  SpmmOperands operands;
  std::vector<device::Buffer> memory = {};
};

/// The given operands alone where nothing rotates.
std::vector<std::shared_ptr<const Copy>> copies_of_matrix(device::Device& device, const SpmmOperands& operands) {
  const sparse::Csr& matrix = *operands.matrix.host;
  const std::int64_t offsets_bytes = (matrix.rows + 1) * static_cast<std::int64_t>(sizeof(std::int32_t));
  const std::int64_t columns_bytes = matrix.nonzeros() * static_cast<std::int64_t>(sizeof(std::int32_t));
  const std::int64_t values_bytes = matrix.nonzeros() * size_of(operands.element);
  const int count = copies_of(operands.rotated_bytes, offsets_bytes + columns_bytes + values_bytes);
  if (count == 1) return {std::make_shared<const Copy>(Copy{.operands = operands})};
  std::vector<std::shared_ptr<const Copy>> copies;
  for (int i = 0; i < count; ++i) {
    Copy copy{.operands = operands};
    const auto duplicate = [&](const void* source, std::int64_t bytes) {
      std::vector<std::byte> content(static_cast<std::size_t>(bytes));
      device.copy_to_host(content.data(), source, bytes);
      const device::Buffer& buffer = copy.memory.emplace_back(device, bytes);
      device.copy_to_device(buffer.data(), content.data(), bytes);
      return buffer.data();
    };
    copy.operands.matrix.row_offsets =
        static_cast<const std::int32_t*>(duplicate(operands.matrix.row_offsets, offsets_bytes));
    copy.operands.matrix.column_indices =
        static_cast<const std::int32_t*>(duplicate(operands.matrix.column_indices, columns_bytes));
    copy.operands.values = duplicate(operands.values, values_bytes);
    copies.push_back(std::make_shared<const Copy>(std::move(copy)));
  }
  return copies;
}

/// The descriptors and the scratch memory of one algorithm. An algorithm's preprocessing belongs to its own descriptor.
class SparseProduct {
 public:
  SparseProduct(device::Device& device, const Api& api, Handle handle, const SpmmOperands& operands,
                SpmmAlgorithm algorithm)
      : api_(api),
        handle_(handle),
        algorithm_(algorithm),
        operation_(operands.transposed ? Operation::transpose : Operation::non_transpose),
        sparse_(describe_sparse(api, operands.matrix, operands.values, operands.element)),
        dense_(describe_dense(api, inner(operands), operands.n, operands.dense, operands.element)),
        output_(describe_dense(api, outer(operands), operands.n, operands.output, operands.element)) {
    std::size_t scratch_bytes = 0;
    check(api_, api_.cusparseSpMM_bufferSize.name, call(api_.cusparseSpMM_bufferSize, &scratch_bytes));
    scratch_ = make_scratch(device, scratch_bytes);
    require(api_, api_.cusparseSetStream, handle_, device.own_stream());
    // Not every algorithm has something to prepare in every version.
    const Status prepared = call(api_.cusparseSpMM_preprocess, scratch_.data());
    if (prepared != Status::not_supported) check(api_, api_.cusparseSpMM_preprocess.name, prepared);
    device.synchronize(device.own_stream());
  }

  void enqueue(Stream stream) const {
    require(api_, api_.cusparseSetStream, handle_, stream);
    check(api_, api_.cusparseSpMM.name, call(api_.cusparseSpMM, scratch_.data()));
  }

 private:
  static std::int64_t inner(const SpmmOperands& operands) {
    return operands.transposed ? operands.matrix.host->rows : operands.matrix.host->cols;
  }
  static std::int64_t outer(const SpmmOperands& operands) {
    return operands.transposed ? operands.matrix.host->cols : operands.matrix.host->rows;
  }

  template <class Function, class Last>
  Status call(const Function& function, Last last) const {
    return function(handle_, operation_, Operation::non_transpose, &one, sparse_.get(), dense_.get(), &zero,
                    output_.get(), DataType::f32, algorithm_, last);
  }

  const Api& api_;
  Handle handle_;
  SpmmAlgorithm algorithm_;
  Operation operation_;
  Descriptor sparse_;
  Descriptor dense_;
  Descriptor output_;
  device::Buffer scratch_;
};

}  // namespace

std::vector<PeerRun> prepare_spmm(device::Device& device, const Api& api, Handle handle, const SpmmOperands& operands) {
  constexpr std::pair<const char*, SpmmAlgorithm> algorithms[] = {{"csr_alg1", SpmmAlgorithm::csr_alg1},
                                                                  {"csr_alg2", SpmmAlgorithm::csr_alg2},
                                                                  {"csr_alg3", SpmmAlgorithm::csr_alg3}};
  std::vector<PeerRun> runs;
  std::vector<std::shared_ptr<const Copy>> copies;  // all algorithms read the same
  for (const auto& [variant, algorithm] : algorithms) {
    runs.push_back(prepare_turns("cusparse", variant, [&, chosen = algorithm] {
      if (copies.empty()) copies = copies_of_matrix(device, operands);
      std::vector<std::function<void(Stream)>> turns;
      for (const auto& copy : copies) {
        auto product = std::make_shared<const SparseProduct>(device, api, handle, copy->operands, chosen);
        turns.emplace_back([product, copy](Stream stream) { product->enqueue(stream); });
      }
      return turns;
    }));
  }
  return runs;
}

}  // namespace vostok::bench::cusparse
