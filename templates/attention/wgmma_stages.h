// A block's shared memory of fused_wgmma: queries, a ring of stages of keys and values, and their barriers.
#pragma once

#include "abi/fused_wgmma.h"
#include "parts/mbarrier.h"

namespace vostok {

template <class F>
struct FusedWgmmaShared {
  alignas(1024) unsigned char queries[query_bytes(F::traits, F::config)];
  unsigned char stages[F::config.stages][wgmma_stage_bytes(F::traits, F::config)];
  unsigned long long full[F::config.stages];
  unsigned long long empty[F::config.stages];
  unsigned long long queries_full;
  unsigned long long queries_empty;
  unsigned long long values_full[F::config.values_apart ? F::config.stages : 1];
  unsigned long long values_empty[F::config.values_apart ? F::config.stages : 1];
  unsigned biases[biases_in_shared(F::traits) ? bias_bytes(F::traits, F::config) / 4 : 1];
};

/// Lines in slabs, whose chunks are exchanged as wgmma's descriptors want it (parts/wgmma.h).
template <class F>
struct SlabPlaces {
  static __device__ constexpr unsigned in_slab(int line, int chunk) { return line * 128 + 16 * (chunk % 8 ^ line % 8); }
  static constexpr int slab = slab_bytes(step_keys(F::config));
  static __device__ unsigned query(int line, int chunk) {
    return (line / group_queries() * key_slabs(F::traits) + chunk / 8) * slab_bytes(group_queries()) +
           in_slab(line % group_queries(), chunk);
  }
  static __device__ constexpr unsigned key(int line, int chunk) { return chunk / 8 * slab + in_slab(line, chunk); }
  static __device__ constexpr unsigned value(int line, int chunk) {
    return (key_slabs(F::traits) + chunk / 8) * slab + in_slab(line, chunk);
  }
  static constexpr unsigned exponents = step_slab_bytes(F::traits, F::config);
  static __device__ unsigned key_exponent(int line) { return exponents + 4 * line; }
  static __device__ unsigned value_exponent(int line) { return key_exponent(step_keys(F::config) + line); }
};

/// A block's stages by their shared addresses.
template <class F>
struct AttentionStages {
  unsigned shared;

  __device__ unsigned stage(unsigned i) const {
    return shared + query_bytes(F::traits, F::config) + i * wgmma_stage_bytes(F::traits, F::config);
  }
  __device__ unsigned full(unsigned i) const { return stage(F::config.stages) + i * barrier_bytes(); }
  __device__ unsigned empty(unsigned i) const { return full(F::config.stages) + i * barrier_bytes(); }
  __device__ unsigned queries_full() const { return empty(F::config.stages); }
  __device__ unsigned queries_empty() const { return queries_full() + barrier_bytes(); }
  __device__ unsigned values_full(unsigned i) const {
    return F::config.values_apart ? queries_empty() + (1 + i) * barrier_bytes() : full(i);
  }
  __device__ unsigned values_empty(unsigned i) const {
    return F::config.values_apart ? values_full(F::config.stages) + i * barrier_bytes() : empty(i);
  }
  __device__ unsigned biases() const { return values_empty(F::config.stages); }
};

}  // namespace vostok
