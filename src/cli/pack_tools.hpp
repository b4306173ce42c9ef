// The kernels of <vostok/tools.hpp> that a program may use with a problem's matrix, for `vostok pack`.
#pragma once

#include <vector>

#include <vostok/context.hpp>
#include <vostok/prepare.hpp>

#include "sparse/csr.hpp"

namespace vostok::cli {

/// The types of the values of a problem's sparse matrix, each once; none if it has no such matrix.
std::vector<Dtype> value_types(const AnyProblem& problem);

/// Runs every tool on a context that only compiles, so that their kernels enter its caches: dense to sparse and back
/// for values of these types, transpose, sorted columns, linear indices, and masks. All have the matrix's shape and
/// index width. `topology`: the matrix's. Errors: those of the tools.
void compile_tools(const Context& context, const sparse::Csr& matrix, const Topology& topology,
                   const std::vector<Dtype>& types);

}  // namespace vostok::cli
