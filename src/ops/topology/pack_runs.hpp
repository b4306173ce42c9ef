// A launch that packs values into runs (abi/packed_runs.h): first in a plan whose values change from call to
// call, or run by Plan::pack.
#pragma once

#include <cstdint>

#include <vostok/enums.hpp>

#include <abi/pack_runs.h>

#include "ops/launch.hpp"
#include "ops/topology/packed_format.hpp"

namespace vostok::ops {

/// The packing, without the pointers of a call.
struct PackRuns {
  Dtype element = Dtype::f16;
  int gap_bits = 4;
  PackedRuns structure = {};
  std::int64_t value_stride = 0;  ///< elements between two sets of values
  std::int64_t sets = 1;
};

namespace pack_runs {

codegen::KernelRequest request(const PackRuns& what);
device::LaunchShape shape();
/// Fills the kernel's arguments; returns the grid.
device::Dim3 bind(const PackRuns& what, const Packing& packing, PackRunsArgs& args);

}  // namespace pack_runs

/// `describe`: a trivially copyable function object that returns the Packing of a call.
template <class Call, class Describe>
Launch pack_runs_launch(const PackRuns& what, const Describe& describe) {
  const auto binding = [what, describe](const Call& call, PackRunsArgs& args) {
    return pack_runs::bind(what, describe(call), args);
  };
  return Launch::of<Call, PackRunsArgs>(pack_runs::request(what), pack_runs::shape(), binding);
}

}  // namespace vostok::ops
