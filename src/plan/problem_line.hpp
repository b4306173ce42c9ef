// A problem as a line of a problem file: the arguments of `vostok run`, without the matrix.
#pragma once

#include <string>

#include <vostok/prepare.hpp>

namespace vostok::plan {

/// "spmm --n 64 --set element=f16". Reading the line gives the problem again, whole.
std::string problem_line(const Spmm& problem);
std::string problem_line(const Sddmm& problem);
std::string problem_line(const Softmax& problem);
std::string problem_line(const SoftmaxBackward& problem);
std::string problem_line(const SparseAttention& problem);
std::string problem_line(const SparseAttentionBackward& problem);
std::string problem_line(const DepthwiseConvolution& problem);
std::string problem_line(const BiasActivation& problem);
std::string problem_line(const Im2col& problem);

}  // namespace vostok::plan
