// Arguments of `execute`: no allocation, and no copy where the caller's structure is the library's.
#pragma once

#include "c/handles.hpp"
#include "c/structures.hpp"

namespace vostok::c {

inline SpmmArguments arguments_of(const vostok_spmm_arguments& c) {
  return {.values = c.values,
          .packed = c.packed != nullptr ? PackedReference(c.packed->value) : PackedReference(),
          .dense = c.dense,
          .output = c.output,
          .bias = c.bias,
          .residual = c.residual,
          .scale = c.scale,
          .device_scale = c.device_scale,
          .workspace = c.workspace,
          .n = c.n};
}

inline SddmmArguments arguments_of(const vostok_sddmm_arguments& c) {
  return {.lhs = c.lhs,
          .rhs = c.rhs,
          .output = c.output,
          .multiplier = c.multiplier,
          .scale = c.scale,
          .device_scale = c.device_scale,
          .workspace = c.workspace};
}

inline SoftmaxArguments arguments_of(const vostok_softmax_arguments& c) {
  return {.values = c.values,
          .output = c.output,
          .row_statistics = c.row_statistics,
          .scale = c.scale,
          .device_scale = c.device_scale,
          .workspace = c.workspace};
}

inline SoftmaxBackwardArguments arguments_of(const vostok_softmax_backward_arguments& c) {
  return {.probabilities = c.probabilities,
          .output_gradient = c.output_gradient,
          .input_gradient = c.input_gradient,
          .scale = c.scale,
          .device_scale = c.device_scale,
          .workspace = c.workspace};
}

inline AttentionArguments arguments_of(const vostok_attention_arguments& c) {
  return {.query = c.query,
          .key = c.key,
          .value = c.value,
          .bias = c.bias,
          .output = c.output,
          .saved = c.saved,
          .scale = c.scale,
          .softcap = c.softcap,
          .workspace = c.workspace,
          .dropout = c.dropout,
          .dropout_state = c.dropout_state};
}

inline AttentionBackwardArguments arguments_of(const vostok_attention_backward_arguments& c) {
  return {.query = c.query,
          .key = c.key,
          .value = c.value,
          .bias = c.bias,
          .output = c.output,
          .output_gradient = c.output_gradient,
          .saved = c.saved,
          .query_gradient = c.query_gradient,
          .key_gradient = c.key_gradient,
          .value_gradient = c.value_gradient,
          .bias_gradient = c.bias_gradient,
          .scale = c.scale,
          .softcap = c.softcap,
          .workspace = c.workspace,
          .dropout = c.dropout,
          .dropout_state = c.dropout_state};
}

inline DepthwiseArguments arguments_of(const vostok_depthwise_arguments& c) {
  return {.input = c.input, .filters = c.filters, .bias = c.bias, .output = c.output, .workspace = c.workspace};
}

inline BiasActivationArguments arguments_of(const vostok_bias_activation_arguments& c) {
  return {.input = c.input, .bias = c.bias, .output = c.output, .workspace = c.workspace};
}

inline Im2colArguments arguments_of(const vostok_im2col_arguments& c) {
  return {.input = c.input, .output = c.output, .workspace = c.workspace};
}

/// Everything is zero but a scale, where C++ has one.
template <class C>
struct ArgumentStructure {
  static void set_defaults(C& made) {
    if constexpr (requires { made.scale; }) made.scale = decltype(arguments_of(made)){}.scale;
  }
};

template <>
struct Structure<vostok_spmm_arguments> : ArgumentStructure<vostok_spmm_arguments> {
  static constexpr const char* name = "vostok_spmm_arguments";
};
template <>
struct Structure<vostok_sddmm_arguments> : ArgumentStructure<vostok_sddmm_arguments> {
  static constexpr const char* name = "vostok_sddmm_arguments";
};
template <>
struct Structure<vostok_softmax_arguments> : ArgumentStructure<vostok_softmax_arguments> {
  static constexpr const char* name = "vostok_softmax_arguments";
};
template <>
struct Structure<vostok_softmax_backward_arguments> : ArgumentStructure<vostok_softmax_backward_arguments> {
  static constexpr const char* name = "vostok_softmax_backward_arguments";
};
template <>
struct Structure<vostok_attention_arguments> : ArgumentStructure<vostok_attention_arguments> {
  static constexpr const char* name = "vostok_attention_arguments";
};
template <>
struct Structure<vostok_attention_backward_arguments> : ArgumentStructure<vostok_attention_backward_arguments> {
  static constexpr const char* name = "vostok_attention_backward_arguments";
};
template <>
struct Structure<vostok_depthwise_arguments> : ArgumentStructure<vostok_depthwise_arguments> {
  static constexpr const char* name = "vostok_depthwise_arguments";
};
template <>
struct Structure<vostok_bias_activation_arguments> : ArgumentStructure<vostok_bias_activation_arguments> {
  static constexpr const char* name = "vostok_bias_activation_arguments";
};
template <>
struct Structure<vostok_im2col_arguments> : ArgumentStructure<vostok_im2col_arguments> {
  static constexpr const char* name = "vostok_im2col_arguments";
};

}  // namespace vostok::c
