// A launch that packs 16-bit values into sparse strips (abi/sparse_strips.h): first in a plan whose values change from
// call to call, or run by Plan::pack.
#pragma once

#include <cstdint>

#include <abi/pack_sparse.h>

#include "ops/launch.hpp"
#include "ops/limits.hpp"
#include "ops/topology/packed_format.hpp"
#include "ops/topology/sparse_strips.hpp"

namespace vostok::ops {

/// The packing, without the pointers of a call.
struct PackSparse {
  SparseStructure structure = {};
  std::int64_t set_bytes = 0;
  std::int64_t value_stride = 0;  ///< elements between two sets of values
  std::int64_t sets = 1;
  int multiprocessors = usual_multiprocessors;
};

namespace pack_sparse {

codegen::KernelRequest request();
device::LaunchShape shape();
/// Fills the kernel's arguments; returns the grid.
device::Dim3 bind(const PackSparse& what, const Packing& packing, PackSparseArgs& args);

}  // namespace pack_sparse

/// `describe`: a trivially copyable function object that returns the Packing of a call.
template <class Call, class Describe>
Launch pack_sparse_launch(const PackSparse& what, const Describe& describe) {
  const auto binding = [what, describe](const Call& call, PackSparseArgs& args) {
    return pack_sparse::bind(what, describe(call), args);
  };
  return Launch::of<Call, PackSparseArgs>(pack_sparse::request(), pack_sparse::shape(), binding);
}

}  // namespace vostok::ops
