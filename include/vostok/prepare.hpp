// Many problems at once, for Context::prepare.
#pragma once

#include <variant>

#include <vostok/problem.hpp>
#include <vostok/topology.hpp>

namespace vostok {

/// A problem of any operation that Context::plan takes.
using AnyProblem = std::variant<Spmm, Sddmm, Softmax, SoftmaxBackward, SparseAttention, SparseAttentionBackward,
                                DepthwiseConvolution, BiasActivation, Im2col>;

struct Preparation {
  AnyProblem problem = {};
  Topology topology = {};  ///< empty for operations without one
};

}  // namespace vostok
