// Problems: the fields of each in C and in C++, named once for both directions.
#pragma once

#include <vostok/problem.hpp>

#include "c/structures.hpp"

namespace vostok::c {

template <class Pass>
void each_field(const Pass& pass, auto& c, Padding& padding) {
  pass("padding_top", c.padding_top, padding.top);
  pass("padding_bottom", c.padding_bottom, padding.bottom);
  pass("padding_left", c.padding_left, padding.left);
  pass("padding_right", c.padding_right, padding.right);
}

template <class Pass>
void each_field(const Pass& pass, auto& c, Epilogue& epilogue) {
  pass("bias", c.bias, epilogue.bias);
  pass.or_f32("bias_element", c.bias_element, epilogue.bias_element);
  pass("residual", c.residual, epilogue.residual);
  pass("activation", c.activation, epilogue.activation);
  pass("scale", c.scale, epilogue.scale);
  pass("accumulate", c.accumulate, epilogue.accumulate);
}

template <class Pass>
void each_field(const Pass& pass, auto& c, Spmm& problem) {
  pass("element", c.element, problem.element);
  pass("n", c.n, problem.n);
  pass.list("n_values", c.n_values, c.n_value_count, problem.n_values);
  pass("batch", c.batch, problem.batch);
  pass("values_per_batch", c.values_per_batch, problem.values_per_batch);
  pass("output", c.output, problem.output);
  pass("index", c.index, problem.index);
  pass("sparse_transposed", c.sparse_transposed, problem.sparse_transposed);
  pass("dense_layout", c.dense_layout, problem.dense_layout);
  pass("output_layout", c.output_layout, problem.output_layout);
  pass("dense_leading", c.dense_leading, problem.dense_leading);
  pass("output_leading", c.output_leading, problem.output_leading);
  pass("value_stride", c.value_stride, problem.value_stride);
  pass("dense_stride", c.dense_stride, problem.dense_stride);
  pass("output_stride", c.output_stride, problem.output_stride);
  pass("alignment_bytes", c.alignment_bytes, problem.alignment_bytes);
  pass("math", c.math, problem.math);
  pass("deterministic", c.deterministic, problem.deterministic);
  pass("nonfinite", c.nonfinite, problem.nonfinite);
  pass("value_lifetime", c.value_lifetime, problem.value_lifetime);
  each_field(pass, c, problem.epilogue);
}

template <class Pass>
void each_field(const Pass& pass, auto& c, Sddmm& problem) {
  pass("element", c.element, problem.element);
  pass("n", c.n, problem.n);
  pass("batch", c.batch, problem.batch);
  pass("output", c.output, problem.output);
  pass("index", c.index, problem.index);
  pass("lhs_layout", c.lhs_layout, problem.lhs_layout);
  pass("rhs_layout", c.rhs_layout, problem.rhs_layout);
  pass("lhs_leading", c.lhs_leading, problem.lhs_leading);
  pass("rhs_leading", c.rhs_leading, problem.rhs_leading);
  pass("lhs_stride", c.lhs_stride, problem.lhs_stride);
  pass("rhs_stride", c.rhs_stride, problem.rhs_stride);
  pass("output_stride", c.output_stride, problem.output_stride);
  pass("multiplier_stride", c.multiplier_stride, problem.multiplier_stride);
  pass("alignment_bytes", c.alignment_bytes, problem.alignment_bytes);
  pass("math", c.math, problem.math);
  pass("deterministic", c.deterministic, problem.deterministic);
  pass("nonfinite", c.nonfinite, problem.nonfinite);
  pass("scale", c.scale, problem.scale);
  pass("multiply", c.multiply, problem.multiply);
  pass("accumulate", c.accumulate, problem.accumulate);
}

template <class Pass>
void each_field(const Pass& pass, auto& c, Softmax& problem) {
  pass("element", c.element, problem.element);
  pass("batch", c.batch, problem.batch);
  pass("output", c.output, problem.output);
  pass("alignment_bytes", c.alignment_bytes, problem.alignment_bytes);
  pass("value_stride", c.value_stride, problem.value_stride);
  pass("output_stride", c.output_stride, problem.output_stride);
  pass("deterministic", c.deterministic, problem.deterministic);
  pass("scale", c.scale, problem.scale);
  pass("statistics", c.statistics, problem.statistics);
}

template <class Pass>
void each_field(const Pass& pass, auto& c, SoftmaxBackward& problem) {
  pass("element", c.element, problem.element);
  pass("batch", c.batch, problem.batch);
  pass("output", c.output, problem.output);
  pass("alignment_bytes", c.alignment_bytes, problem.alignment_bytes);
  pass("probability_stride", c.probability_stride, problem.probability_stride);
  pass("output_gradient_stride", c.output_gradient_stride, problem.output_gradient_stride);
  pass("input_gradient_stride", c.input_gradient_stride, problem.input_gradient_stride);
  pass("deterministic", c.deterministic, problem.deterministic);
  pass("scale", c.scale, problem.scale);
}

template <class Pass>
void each_field(const Pass& pass, auto& c, SparseAttention& problem) {
  pass("element", c.element, problem.element);
  pass("n", c.n, problem.n);
  pass("value_size", c.value_size, problem.value_size);
  pass("batch", c.batch, problem.batch);
  pass("query_leading", c.query_leading, problem.query_leading);
  pass("key_leading", c.key_leading, problem.key_leading);
  pass("value_leading", c.value_leading, problem.value_leading);
  pass("output_leading", c.output_leading, problem.output_leading);
  pass("query_stride", c.query_stride, problem.query_stride);
  pass("key_stride", c.key_stride, problem.key_stride);
  pass("value_stride", c.value_stride, problem.value_stride);
  pass("output_stride", c.output_stride, problem.output_stride);
  pass("index", c.index, problem.index);
  pass("alignment_bytes", c.alignment_bytes, problem.alignment_bytes);
  pass("math", c.math, problem.math);
  pass("deterministic", c.deterministic, problem.deterministic);
  pass("nonfinite", c.nonfinite, problem.nonfinite);
  pass("saved", c.saved, problem.saved);
  pass("heads_at_once", c.heads_at_once, problem.heads_at_once);
  pass("key_heads", c.key_heads, problem.key_heads);
  pass("capped", c.capped, problem.capped);
  pass("causal", c.causal, problem.causal);
  pass("biased", c.biased, problem.biased);
  pass("bias_stride", c.bias_stride, problem.bias_stride);
  pass("dropped", c.dropped, problem.dropped);
}

template <class Pass>
void each_field(const Pass& pass, auto& c, SparseAttentionBackward& problem) {
  each_field(pass, c, problem.forward);
}

template <class Pass>
void each_field(const Pass& pass, auto& c, DepthwiseConvolution& problem) {
  pass("element", c.element, problem.element);
  pass("batch", c.batch, problem.batch);
  pass("channels", c.channels, problem.channels);
  pass("height", c.height, problem.height);
  pass("width", c.width, problem.width);
  pass("kernel", c.kernel, problem.kernel);
  pass("stride", c.stride, problem.stride);
  each_field(pass, c, problem.padding);
  pass("alignment_bytes", c.alignment_bytes, problem.alignment_bytes);
  pass("bias", c.bias, problem.bias);
  pass.or_f32("bias_element", c.bias_element, problem.bias_element);
  pass("activation", c.activation, problem.activation);
}

template <class Pass>
void each_field(const Pass& pass, auto& c, BiasActivation& problem) {
  pass("element", c.element, problem.element);
  pass("batch", c.batch, problem.batch);
  pass("rows", c.rows, problem.rows);
  pass("columns", c.columns, problem.columns);
  pass("alignment_bytes", c.alignment_bytes, problem.alignment_bytes);
  pass("bias", c.bias, problem.bias);
  pass.or_f32("bias_element", c.bias_element, problem.bias_element);
  pass("activation", c.activation, problem.activation);
}

template <class Pass>
void each_field(const Pass& pass, auto& c, Im2col& problem) {
  pass("element", c.element, problem.element);
  pass("batch", c.batch, problem.batch);
  pass("channels", c.channels, problem.channels);
  pass("height", c.height, problem.height);
  pass("width", c.width, problem.width);
  pass("kernel_height", c.kernel_height, problem.kernel_height);
  pass("kernel_width", c.kernel_width, problem.kernel_width);
  pass("stride", c.stride, problem.stride);
  pass("alignment_bytes", c.alignment_bytes, problem.alignment_bytes);
  each_field(pass, c, problem.padding);
}

/// The defaults of a structure are those of the problem of C++.
template <class C, class Problem>
struct ProblemStructure {
  static void set_defaults(C& made) {
    Problem standard;
    each_field(GiveFields(), made, standard);
  }
};

template <>
struct Structure<vostok_spmm> : ProblemStructure<vostok_spmm, Spmm> {
  static constexpr const char* name = "vostok_spmm";
};
template <>
struct Structure<vostok_sddmm> : ProblemStructure<vostok_sddmm, Sddmm> {
  static constexpr const char* name = "vostok_sddmm";
};
template <>
struct Structure<vostok_softmax> : ProblemStructure<vostok_softmax, Softmax> {
  static constexpr const char* name = "vostok_softmax";
};
template <>
struct Structure<vostok_softmax_backward> : ProblemStructure<vostok_softmax_backward, SoftmaxBackward> {
  static constexpr const char* name = "vostok_softmax_backward";
};
template <>
struct Structure<vostok_attention> : ProblemStructure<vostok_attention, SparseAttention> {
  static constexpr const char* name = "vostok_attention";
};
template <>
struct Structure<vostok_depthwise> : ProblemStructure<vostok_depthwise, DepthwiseConvolution> {
  static constexpr const char* name = "vostok_depthwise";
};
template <>
struct Structure<vostok_bias_activation> : ProblemStructure<vostok_bias_activation, BiasActivation> {
  static constexpr const char* name = "vostok_bias_activation";
};
template <>
struct Structure<vostok_im2col> : ProblemStructure<vostok_im2col, Im2col> {
  static constexpr const char* name = "vostok_im2col";
};

/// The problem of C++ that a caller's structure says. Errors: invalid_argument, unsupported.
template <class Problem, class C>
Problem problem_of(const C* given) {
  const C known = read(given);
  Problem problem;
  each_field(TakeFields(Structure<C>::name), known, problem);
  return problem;
}

}  // namespace vostok::c
