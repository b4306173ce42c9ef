// A warp's sums in sparse_tensor_mma: passes of sparse strips times fragments of B, k block after k block.
#pragma once

#include "abi/sparse_tensor_mma.h"
#include "parts/sparse_mma.h"
#include "spmm/sparse_fragments.h"
#include "spmm/unpack_dense_fragments.h"

namespace vostok {

template <class F>
class SparseWarpProduct {
  static constexpr auto config = F::config;
  using Dense = DenseFragments<F>;
  static constexpr int octets_of_load = Dense::matrices / 2;

 public:
  static constexpr int strips = config.warp_strips;
  static constexpr int octets = config.warp_columns / 8;

  /// Adds the product of one k block. `From` says where its strips are; `dense` is the tile of B.
  template <class From>
  __device__ void add(const From (&from)[strips], SharedAddress dense, const Dense& fragments, unsigned lane) {
    SparseStrip<From> readers[strips];
#pragma unroll
    for (int q = 0; q < strips; ++q) readers[q] = SparseStrip<From>(from[q], lane);
#pragma unroll 1
    for (int step = 0; step < sparse_steps(); ++step) {
      unsigned most = 0;
#pragma unroll
      for (int q = 0; q < strips; ++q) most = max(most, readers[q].header().passes(step));
      if (most > 0) add_first_pass(readers, dense, fragments, step);
      if (most > 1) add_second_pass(readers, dense, fragments, step);
    }
  }

  /// Element i of the accumulator's fragment (parts/mma.h).
  __device__ float sum(int q, int o, int i) const { return sums_[q][o][i]; }

 private:
  /// Fragments of B of a step, for the octets of one load.
  struct DenseStep {
    unsigned at[octets_of_load][4];

    __device__ DenseStep(SharedAddress dense, const Dense& fragments, int step, int load) {
      unsigned lower[Dense::matrices];
      unsigned upper[Dense::matrices];
      fragments.load(lower, dense, 2 * step, load);
      fragments.load(upper, dense, 2 * step + 1, load);
#pragma unroll
      for (int o = 0; o < octets_of_load; ++o)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          at[o][half] = lower[2 * o + half];
          at[o][2 + half] = upper[2 * o + half];
        }
    }
  };

  /// Nearly every strip has one: their products share what is read of B.
  template <class From>
  __device__ void add_first_pass(const SparseStrip<From> (&readers)[strips], SharedAddress dense,
                                 const Dense& fragments, int step) {
    SparseFragment a[strips];
#pragma unroll
    for (int q = 0; q < strips; ++q)
      a[q] = readers[q].header().passes(step) > 0 ? readers[q].load(step, 0) : empty_fragment();
#pragma unroll
    for (int load = 0; load < Dense::loads; ++load) {
      const DenseStep b(dense, fragments, step, load);
#pragma unroll
      for (int q = 0; q < strips; ++q) multiply(q, a[q], b, load);
    }
  }

  /// Few strips have one, where there are few nonzeros.
  template <class From>
  __device__ void add_second_pass(const SparseStrip<From> (&readers)[strips], SharedAddress dense,
                                  const Dense& fragments, int step) {
#pragma unroll
    for (int q = 0; q < strips; ++q) {
      if (readers[q].header().passes(step) < 2) continue;
      const SparseFragment a = readers[q].load(step, 1);
#pragma unroll
      for (int load = 0; load < Dense::loads; ++load) multiply(q, a, DenseStep(dense, fragments, step, load), load);
    }
  }

  __device__ void multiply(int q, const SparseFragment& a, const DenseStep& b, int load) {
#pragma unroll
    for (int o = 0; o < octets_of_load; ++o) {
      float(&own)[4] = sums_[q][load * octets_of_load + o];
      if constexpr (F::traits.element == Dtype::f16) sparse_mma_f16(own, a.at, b.at[o], a.metadata);
      else sparse_mma_bf16(own, a.at, b.at[o], a.metadata);
    }
  }

  float sums_[strips][octets][4] = {};
};

}  // namespace vostok
