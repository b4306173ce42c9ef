// Values into sparse strips (abi/sparse_strips.h), in one pass over the structure's sources: a warp a strip. Its lanes
// load sources and values side by side into shared memory, then each picks those of its own registers.
#pragma once

#include "abi/fixed.h"
#include "abi/pack_sparse.h"
#include "parts/dependent_launch.h"
#include "parts/loads.h"
#include "parts/shared.h"
#include "parts/vector.h"
#include "topology/block_sum.h"

namespace vostok {

template <class F>
class SparsePacker {
  static_assert(F::traits.element_bytes == 2, "pack_sparse: values have 16 bits");
  static constexpr unsigned everyone = 0xffffffffU;
  using Registers = Vector<unsigned, sparse_registers()>;

 public:
  __device__ SparsePacker(const PackSparseArgs& args, long long set)
      : structure_(args.structure),
        values_(static_cast<const unsigned short*>(args.values) + set * args.value_stride),
        data_(args.data + set * args.set_bytes),
        own_(dynamic_shared<PackSparseShared<F::config.threads>>().values[threadIdx.x / packed_lanes()]),
        lane_(threadIdx.x % packed_lanes()) {}

  __device__ void pack(long long strip) const {
    const unsigned word = load_global(structure_.groups + strip * packed_lanes() + lane_);
    const SparseHeader header{load_global(structure_.headers + strip)};
    unsigned char* const to =
        data_ + static_cast<long long>(load_global(structure_.unit_offsets + strip)) * packed_unit_bytes();
    stage(load_global(structure_.nonzero_offsets + strip), load_global(structure_.nonzero_offsets + strip + 1));
    if (lane_ < sparse_header_bytes() / 4) reinterpret_cast<unsigned*>(to)[lane_] = lane_ == 0 ? header.word : 0;

    const auto count = static_cast<unsigned>(__popc(word));
    unsigned next = warp_inclusive_sum(count) - count;
    unsigned char* pass = to + sparse_header_bytes();
#pragma unroll
    for (int step = 0; step < sparse_steps(); ++step) {
      const unsigned passes = header.passes(step);
#pragma unroll
      for (int p = 0; p < sparse_most_passes(); ++p)
        if (static_cast<unsigned>(p) < passes) write_pass(pass + p * sparse_pass_bytes(), word, step, p, next);
      next += static_cast<unsigned>(__popc(word >> 16 * step & 0xffffU));
      pass += passes * sparse_pass_bytes();
    }
    __syncwarp();  // the values have been read
  }

 private:
  /// The strip's values, in the order of their sources.
  __device__ void stage(unsigned begin, unsigned end) const {
    for (unsigned i = begin + lane_; i < end; i += packed_lanes())
      own_[i - begin] = load_global(values_ + load_global(structure_.sources + i));
    __syncwarp();
  }

  /// `first`: the number of the lane's first value of the step.
  __device__ void write_pass(unsigned char* to, unsigned word, int step, int pass, unsigned first) const {
    Registers registers;
    unsigned metadata[2] = {};
#pragma unroll
    for (int r = 0; r < sparse_registers(); ++r) {
      const unsigned group = sparse_group(word, step, r);
      const unsigned taken = sparse_taken(group, pass);
      const SparsePlaces places = sparse_places(taken);
      unsigned number = first + static_cast<unsigned>(__popc(word >> 16 * step & ((1U << 4 * r) - 1))) +
                        static_cast<unsigned>(__popc(group ^ taken)) * pass;
      unsigned lower = 0;
      unsigned higher = 0;
      if ((taken >> places.lower & 1U) != 0) lower = packed_named(own_[number++]);
      if ((taken >> places.higher & 1U) != 0) higher = packed_named(own_[number]);
      registers.at[r] = lower | higher << 16;
      metadata[r / 2] |= places.metadata() << (16 * (r % 2) + 4 * (lane_ % 4));
    }
    *reinterpret_cast<Registers*>(to + lane_ * sizeof(Registers)) = registers;
    // The four lanes of a row have a quarter each of both its words.
#pragma unroll
    for (unsigned& part : metadata) {
      part |= __shfl_xor_sync(everyone, part, 1);
      part |= __shfl_xor_sync(everyone, part, 2);
    }
    if (lane_ % 4 < 2)
      reinterpret_cast<unsigned*>(to + sparse_metadata_begin())[lane_ / 4 * 2 + lane_ % 4] =
          metadata[lane_ % 4 == 0 ? 0 : 1];
  }

  const SparseStructure& structure_;
  const unsigned short* values_;
  unsigned char* data_;
  unsigned short* own_;
  unsigned lane_;
};

/// Warps take strip after strip along the grid's x; sets lie on y, and on z past what y holds.
template <class F>
__global__ void __launch_bounds__(F::config.threads) pack_sparse(const __grid_constant__ PackSparseArgs args) {
  static_assert(F::config.threads % packed_lanes() == 0 && F::config.threads <= 1024, "pack_sparse: whole warps");
  static_assert(sizeof(PackSparseShared<F::config.threads>) <= shared_bytes(F::traits, F::config),
                "pack_sparse: shared memory");
  constexpr unsigned warps = F::config.threads / packed_lanes();
  const unsigned set = blockIdx.z * gridDim.y + blockIdx.y;
  if (set >= args.sets) return;
  wait_for_previous_launch();
  const SparsePacker<F> packer(args, set);
  const long long strips = static_cast<long long>(args.structure.row_strips) * args.structure.k_blocks;
  for (long long strip = static_cast<long long>(blockIdx.x) * warps + threadIdx.x / packed_lanes(); strip < strips;
       strip += static_cast<long long>(gridDim.x) * warps)
    packer.pack(strip);
  publish_to_next_launch();
}

}  // namespace vostok
