// Execute: the plan of the right operation, its arguments, and no allocation.
#include "c/arguments.hpp"
#include "c/plans.hpp"

namespace vostok::c {

namespace {

template <class Problem, class C>
vostok_status execute(const vostok_plan* plan, void* stream, const C* arguments) noexcept {
  return guarded([&] {
    const Plan<Problem>& executed = plan_of<Problem>(plan, "execute");
    if (arguments == nullptr || arguments->size != sizeof(C)) [[unlikely]]
      return executed.execute(stream_of(stream), arguments_of(read(arguments)));
    require_reserved(*arguments, Structure<C>::name);
    executed.execute(stream_of(stream), arguments_of(*arguments));
  });
}

}  // namespace

}  // namespace vostok::c

using vostok::c::execute;

vostok_status vostok_execute_spmm(const vostok_plan* plan, void* stream, const vostok_spmm_arguments* arguments) {
  return execute<vostok::Spmm>(plan, stream, arguments);
}

vostok_status vostok_execute_sddmm(const vostok_plan* plan, void* stream, const vostok_sddmm_arguments* arguments) {
  return execute<vostok::Sddmm>(plan, stream, arguments);
}

vostok_status vostok_execute_softmax(const vostok_plan* plan, void* stream, const vostok_softmax_arguments* arguments) {
  return execute<vostok::Softmax>(plan, stream, arguments);
}

vostok_status vostok_execute_softmax_backward(const vostok_plan* plan, void* stream,
                                              const vostok_softmax_backward_arguments* arguments) {
  return execute<vostok::SoftmaxBackward>(plan, stream, arguments);
}

vostok_status vostok_execute_attention(const vostok_plan* plan, void* stream,
                                       const vostok_attention_arguments* arguments) {
  return execute<vostok::SparseAttention>(plan, stream, arguments);
}

vostok_status vostok_execute_attention_backward(const vostok_plan* plan, void* stream,
                                                const vostok_attention_backward_arguments* arguments) {
  return execute<vostok::SparseAttentionBackward>(plan, stream, arguments);
}

vostok_status vostok_execute_depthwise(const vostok_plan* plan, void* stream,
                                       const vostok_depthwise_arguments* arguments) {
  return execute<vostok::DepthwiseConvolution>(plan, stream, arguments);
}

vostok_status vostok_execute_bias_activation(const vostok_plan* plan, void* stream,
                                             const vostok_bias_activation_arguments* arguments) {
  return execute<vostok::BiasActivation>(plan, stream, arguments);
}

vostok_status vostok_execute_im2col(const vostok_plan* plan, void* stream, const vostok_im2col_arguments* arguments) {
  return execute<vostok::Im2col>(plan, stream, arguments);
}
