// The convolution-side problems inside the library: their fields listed once, their checks, their queries. None has a
// sparse matrix: statistics are empty.
#pragma once

#include <memory>

#include <vostok/convolution.hpp>

#include "ops/family.hpp"
#include "ops/problem_fields.hpp"

namespace vostok {

template <FieldsOf<DepthwiseConvolution> P, class Visit>
constexpr void problem_fields(P& problem, Visit&& visit) {
  visit("batch", problem.batch, KeyRole{});
  visit("channels", problem.channels, KeyRole{});
  visit("height", problem.height, KeyRole{});
  visit("width", problem.width, KeyRole{});
  visit("kernel", problem.kernel, KeyRole{});
  visit("stride", problem.stride, KeyRole{});
  visit("padding", problem.padding, KeyRole{});
  visit("element", problem.element, KeyRole{});
  visit("alignment_bytes", problem.alignment_bytes, KeyRole{});
  visit("bias", problem.bias, KeyRole{.beside = true});
  visit("bias_element", problem.bias_element, KeyRole{.beside = true});
  visit("activation", problem.activation, KeyRole{.beside = true});
}

template <FieldsOf<BiasActivation> P, class Visit>
constexpr void problem_fields(P& problem, Visit&& visit) {
  visit("batch", problem.batch, KeyRole{});
  visit("rows", problem.rows, KeyRole{});
  visit("columns", problem.columns, KeyRole{});
  visit("element", problem.element, KeyRole{});
  visit("alignment_bytes", problem.alignment_bytes, KeyRole{});
  visit("bias", problem.bias, KeyRole{});
  visit("bias_element", problem.bias_element, KeyRole{});
  visit("activation", problem.activation, KeyRole{});
}

template <FieldsOf<Im2col> P, class Visit>
constexpr void problem_fields(P& problem, Visit&& visit) {
  visit("batch", problem.batch, KeyRole{});
  visit("channels", problem.channels, KeyRole{});
  visit("height", problem.height, KeyRole{});
  visit("width", problem.width, KeyRole{});
  visit("kernel_height", problem.kernel_height, KeyRole{});
  visit("kernel_width", problem.kernel_width, KeyRole{});
  visit("stride", problem.stride, KeyRole{});
  visit("padding", problem.padding, KeyRole{});
  visit("element", problem.element, KeyRole{});
  visit("alignment_bytes", problem.alignment_bytes, KeyRole{});
}

namespace ops {

struct DepthwiseQuery : Query {
  DepthwiseConvolution problem;
};
struct BiasActivationQuery : Query {
  BiasActivation problem;
};
struct Im2colQuery : Query {
  Im2col problem;
};

/// Throws invalid_argument for a value that makes no sense, such as an image without pixels or an output without any.
/// Throws unsupported for a kernel or stride that this version lacks. A batch, channels, rows or columns of 0 are
/// legal: there is nothing to compute.
void validate(const DepthwiseConvolution& problem, const TopologyStatistics& statistics);
void validate(const BiasActivation& problem, const TopologyStatistics& statistics);
void validate(const Im2col& problem, const TopologyStatistics& statistics);

std::shared_ptr<DepthwiseQuery> make_query(const DepthwiseConvolution& problem, const TopologyStatistics& statistics,
                                           const SizeRange& n, const device::Device* device);
std::shared_ptr<BiasActivationQuery> make_query(const BiasActivation& problem, const TopologyStatistics& statistics,
                                                const SizeRange& n, const device::Device* device);
std::shared_ptr<Im2colQuery> make_query(const Im2col& problem, const TopologyStatistics& statistics, const SizeRange& n,
                                        const device::Device* device);

}  // namespace ops
}  // namespace vostok
