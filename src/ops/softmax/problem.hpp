// The softmax problems inside the library: their fields listed once, their checks, their queries.
#pragma once

#include <memory>

#include <vostok/softmax.hpp>

#include "ops/family.hpp"
#include "ops/problem_fields.hpp"

namespace vostok {

template <FieldsOf<Softmax> P, class Visit>
constexpr void problem_fields(P& problem, Visit&& visit) {
  visit("batch", problem.batch, KeyRole{});
  visit("element", problem.element, KeyRole{});
  visit("output", problem.output, KeyRole{});
  visit("value_stride", problem.value_stride, KeyRole{.alignment_only = true});
  visit("output_stride", problem.output_stride, KeyRole{.alignment_only = true});
  visit("alignment_bytes", problem.alignment_bytes, KeyRole{});
  visit("deterministic", problem.deterministic, KeyRole{});
  visit("scale", problem.scale, KeyRole{.beside = true});
  // A softmax that reads statistics reduces no row: another computation, for which other configs are fast.
  visit("statistics", problem.statistics, KeyRole{.beside = problem.statistics != RowStatistics::read});
}

template <FieldsOf<SoftmaxBackward> P, class Visit>
constexpr void problem_fields(P& problem, Visit&& visit) {
  visit("batch", problem.batch, KeyRole{});
  visit("element", problem.element, KeyRole{});
  visit("output", problem.output, KeyRole{});
  visit("probability_stride", problem.probability_stride, KeyRole{.alignment_only = true});
  visit("output_gradient_stride", problem.output_gradient_stride, KeyRole{.alignment_only = true});
  visit("input_gradient_stride", problem.input_gradient_stride, KeyRole{.alignment_only = true});
  visit("alignment_bytes", problem.alignment_bytes, KeyRole{});
  visit("deterministic", problem.deterministic, KeyRole{});
  visit("scale", problem.scale, KeyRole{.beside = true});
}

namespace ops {

struct SoftmaxQuery : Query {
  Softmax problem;
};

struct SoftmaxBackwardQuery : Query {
  SoftmaxBackward problem;
};

/// Throws invalid_argument for a value that makes no sense, naming the field and its value.
void validate(const Softmax& problem, const TopologyStatistics& statistics);
void validate(const SoftmaxBackward& problem, const TopologyStatistics& statistics);

/// The query of a problem, with `output` filled in; strides that are packed, or not needed for one matrix, become 0.
std::shared_ptr<SoftmaxQuery> make_query(const Softmax& problem, const TopologyStatistics& statistics,
                                         const SizeRange& n, const device::Device* device);
std::shared_ptr<SoftmaxBackwardQuery> make_query(const SoftmaxBackward& problem, const TopologyStatistics& statistics,
                                                 const SizeRange& n, const device::Device* device);

}  // namespace ops
}  // namespace vostok
