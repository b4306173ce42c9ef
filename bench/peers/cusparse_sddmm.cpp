#include "bench/peers/cusparse_sddmm.hpp"

namespace vostok::bench::cusparse {

namespace {

/// The descriptors and the scratch memory of one sampled product.
class SampledProduct {
 public:
  SampledProduct(device::Device& device, const Api& api, Handle handle, const SddmmOperands& operands)
      : api_(api),
        handle_(handle),
        lhs_(describe_dense(api, operands.mask.host->rows, operands.n, operands.lhs, operands.element)),
        rhs_(describe_dense(api, operands.mask.host->cols, operands.n, operands.rhs, operands.element)),
        output_(describe_sparse(api, operands.mask, operands.output, operands.element)) {
    std::size_t scratch_bytes = 0;
    check(api_, api_.cusparseSDDMM_bufferSize.name, call(api_.cusparseSDDMM_bufferSize, &scratch_bytes));
    scratch_ = make_scratch(device, scratch_bytes);
    require(api_, api_.cusparseSetStream, handle_, device.own_stream());
    check(api_, api_.cusparseSDDMM_preprocess.name, call(api_.cusparseSDDMM_preprocess, scratch_.data()));
    device.synchronize(device.own_stream());
  }

  void enqueue(Stream stream) const {
    require(api_, api_.cusparseSetStream, handle_, stream);
    check(api_, api_.cusparseSDDMM.name, call(api_.cusparseSDDMM, scratch_.data()));
  }

 private:
  template <class Function, class Last>
  Status call(const Function& function, Last last) const {
    return function(handle_, Operation::non_transpose, Operation::transpose, &one, lhs_.get(), rhs_.get(), &zero,
                    output_.get(), DataType::f32, SddmmAlgorithm::automatic, last);
  }

  const Api& api_;
  Handle handle_;
  Descriptor lhs_;
  Descriptor rhs_;
  Descriptor output_;
  device::Buffer scratch_;
};

}  // namespace

std::vector<PeerRun> prepare_sddmm(device::Device& device, const Api& api, Handle handle,
                                   const SddmmOperands& operands) {
  PeerRun run = prepare_run("cusparse", "preprocessed", [&] {
    if (operands.element == Dtype::bf16) fail(ErrorCode::unsupported, "cannot run cuSPARSE: its SDDMM has no bf16");
    auto product = std::make_shared<const SampledProduct>(device, api, handle, operands);
    return [product](Stream stream) { product->enqueue(stream); };
  });
  // Whether an output that is scaled by zero is read is not documented: poison is cleared before the output is
  // verified.
  const std::int64_t output_bytes = operands.mask.host->nonzeros() * size_of(operands.element);
  run.enqueue_and_deliver = [&device, enqueue = run.enqueue, output = operands.output, output_bytes](Stream stream) {
    device.fill(stream, output, 0, output_bytes);
    enqueue(stream);
  };
  return {run};
}

}  // namespace vostok::bench::cusparse
