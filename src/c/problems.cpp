#include "c/problems.hpp"

#include "c/arguments.hpp"

using vostok::c::initialise;

void vostok_spmm_init(vostok_spmm* problem, size_t size) { initialise(problem, size); }
void vostok_sddmm_init(vostok_sddmm* problem, size_t size) { initialise(problem, size); }
void vostok_softmax_init(vostok_softmax* problem, size_t size) { initialise(problem, size); }
void vostok_softmax_backward_init(vostok_softmax_backward* problem, size_t size) { initialise(problem, size); }
void vostok_attention_init(vostok_attention* problem, size_t size) { initialise(problem, size); }
void vostok_depthwise_init(vostok_depthwise* problem, size_t size) { initialise(problem, size); }
void vostok_bias_activation_init(vostok_bias_activation* problem, size_t size) { initialise(problem, size); }
void vostok_im2col_init(vostok_im2col* problem, size_t size) { initialise(problem, size); }

void vostok_spmm_arguments_init(vostok_spmm_arguments* arguments, size_t size) { initialise(arguments, size); }
void vostok_sddmm_arguments_init(vostok_sddmm_arguments* arguments, size_t size) { initialise(arguments, size); }
void vostok_softmax_arguments_init(vostok_softmax_arguments* arguments, size_t size) { initialise(arguments, size); }
void vostok_softmax_backward_arguments_init(vostok_softmax_backward_arguments* arguments, size_t size) {
  initialise(arguments, size);
}
void vostok_attention_arguments_init(vostok_attention_arguments* arguments, size_t size) {
  initialise(arguments, size);
}
void vostok_attention_backward_arguments_init(vostok_attention_backward_arguments* arguments, size_t size) {
  initialise(arguments, size);
}
void vostok_depthwise_arguments_init(vostok_depthwise_arguments* arguments, size_t size) {
  initialise(arguments, size);
}
void vostok_bias_activation_arguments_init(vostok_bias_activation_arguments* arguments, size_t size) {
  initialise(arguments, size);
}
void vostok_im2col_arguments_init(vostok_im2col_arguments* arguments, size_t size) { initialise(arguments, size); }
