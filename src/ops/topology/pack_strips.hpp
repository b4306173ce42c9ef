// A launch that packs values into strips (abi/packed_strips.h): first in a plan whose values change from call to
// call, or run by Plan::pack.
#pragma once

#include <cstdint>

#include <vostok/enums.hpp>

#include <abi/pack_strips.h>

#include "ops/launch.hpp"
#include "ops/limits.hpp"
#include "ops/topology/packed_format.hpp"
#include "ops/topology/packed_strips.hpp"

namespace vostok::ops {

/// The packing, without the pointers of a call.
struct PackStrips {
  StripKind kind = {};
  bool keeps_exact = false;  ///< values are copied beside marked strips; else they are read where the caller has them
  bool placed = false;       ///< of a transpose: a structure with nonzeros has value_places
  Dtype element = Dtype::f16;
  PackedStructure structure = {};
  PackedLayout layout = {};       ///< of each set
  std::int64_t value_stride = 0;  ///< elements between two sets of values
  std::int64_t sets = 1;
  int multiprocessors = usual_multiprocessors;
};

namespace pack_strips {

codegen::KernelRequest request(const PackStrips& what);
device::LaunchShape shape(const PackStrips& what);
/// Fills the kernel's arguments; returns the grid.
device::Dim3 bind(const PackStrips& what, const Packing& packing, PackStripsArgs& args);
/// Whether the launch takes so long that its blocks are better off on multiprocessors that the product before has left.
/// Short ones gain more by an early start (bench/notes/packing.md#behind-the-product-of-the-call-before).
bool starts_after_previous(const PackStrips& what);

}  // namespace pack_strips

/// `describe`: a trivially copyable function object that returns the Packing of a call.
template <class Call, class Describe>
Launch pack_strips_launch(const PackStrips& what, const Describe& describe) {
  const auto binding = [what, describe](const Call& call, PackStripsArgs& args) {
    return pack_strips::bind(what, describe(call), args);
  };
  Launch launch = Launch::of<Call, PackStripsArgs>(pack_strips::request(what), pack_strips::shape(what), binding);
  if (pack_strips::starts_after_previous(what)) launch.start_after_previous();
  return launch;
}

}  // namespace vostok::ops
