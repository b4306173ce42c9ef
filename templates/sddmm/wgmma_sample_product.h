// A warpgroup's 64 rows of a tile's dense product, n block after n block.
//
// A tensor core cuts what it adds instead of rounding it, at the last bits of the largest number. So products with a
// low term come first, while sums are small, and after some n blocks sums are taken out into a second set that is added
// in f32.
#pragma once

#include "abi/split_dense.h"
#include "abi/wgmma_sample.h"
#include "parts/ordered_loads.h"
#include "parts/wgmma.h"
#include "sddmm/warpgroup_sums.h"

namespace vostok {

/// Lines in shared memory of an operand of this layout, whose rows are the columns of a B.
constexpr DenseLine line_of(Layout layout) { return layout == Layout::row_major ? DenseLine::k : DenseLine::columns; }

template <class F>
class WarpgroupProduct : public WarpgroupSums<tile_columns(F::config), promotes(F::traits, F::config)> {
  using WarpgroupSums<tile_columns(F::config), promotes(F::traits, F::config)>::sums_;
  static constexpr auto config = F::config;
  static constexpr PackedMode mode = config.mode;
  static constexpr int terms = sample_terms(mode);
  static constexpr unsigned octet_bytes = sample_octet_bytes(mode);
  static constexpr bool keeps = keeps_lhs(F::traits);
  // How operands lie in shared memory: prepared ones and those that are copied by rows in lines of n.
  static constexpr DenseLine lhs_line = line_of(F::traits.lhs_layout);
  static constexpr DenseLine rhs_line = line_of(F::traits.rhs_layout);
  static constexpr Dtype type = packed_is_f16(mode) ? Dtype::f16 : Dtype::bf16;

 public:
  /// Takes A into registers: `octets` from that of the warp's first row on.
  __device__ void keep(const unsigned char* octets) {
    const unsigned group = threadIdx.x % 32 / 4;
    const unsigned char* const line = octets + group * 128 + threadIdx.x % 4 * 4;
#pragma unroll
    for (int step = 0; step < steps_of_block(); ++step)
#pragma unroll
      for (int term = 0; term < terms; ++term)
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) {
          const unsigned chunk = (2 * step + i / 2) ^ group;
          kept_.at[step][term][i] = load_ahead(
              reinterpret_cast<const unsigned*>(line + i % 2 * octet_bytes + term * sample_term_bytes() + chunk * 16));
        }
  }

  /// The groups in which an n block's products are queued.
  static constexpr int groups = 2;

  /// Queues the products of an n block, added to the sums so far or not. Shared addresses: `rhs` of the tile's first
  /// column, `lhs` of the warpgroup's first row.
  template <bool adds>
  __device__ void multiply(unsigned lhs, unsigned rhs) {
    const Operands from = {dense_descriptor(lhs, group_bytes(lhs_line), octet_bytes),
                           dense_descriptor(rhs, group_bytes(rhs_line), octet_bytes)};
    begin_multiplications();
    if constexpr (terms == 2) {
      low<0, adds>(from);
      low<1>(from);
      low<2>(from);
      low<3>(from);
      commit_multiplications();
      high<0>(from);
      high<1>(from);
    } else {
      high<0, adds>(from);
      high<1>(from);
      commit_multiplications();
    }
    high<2>(from);
    high<3>(from);
    commit_multiplications();
  }

 private:
  using Mma = WarpgroupMma<tile_columns(config)>;

  struct Operands {
    unsigned long long lhs;
    unsigned long long rhs;
  };
  struct Kept {
    unsigned at[steps_of_block()][terms][4];
  };
  struct Nothing {};

  /// From 64 rows of an operand to the next where their lines are of rows.
  static constexpr unsigned group_bytes(DenseLine line) { return line == DenseLine::k ? 0 : split_plane_bytes(); }
  /// From a step's operand to the next one's: bytes.
  static constexpr unsigned step_bytes(DenseLine line) { return line == DenseLine::k ? 32 : 16 * split_line_bytes(); }

  template <int step, int lhs_term, int rhs_term, bool accumulates>
  __device__ void add(const Operands& from) {
    const unsigned long long rhs =
        moved_descriptor(from.rhs, step * step_bytes(rhs_line) + rhs_term * sample_term_bytes());
    if constexpr (keeps) Mma::template multiply<type, DenseLine::k>(sums_, kept_.at[step][lhs_term], rhs, accumulates);
    else
      Mma::template multiply_shared<type, lhs_line, rhs_line>(
          sums_, moved_descriptor(from.lhs, step * step_bytes(lhs_line) + lhs_term * sample_term_bytes()), rhs,
          accumulates);
  }
  template <int step, bool adds = true>
  __device__ void low(const Operands& from) {
    add<step, 0, 1, (adds || step > 0)>(from);
    add<step, 1, 0, true>(from);
  }
  template <int step, bool adds = true>
  __device__ void high(const Operands& from) {
    add<step, 0, 0, (adds || terms == 2 || step > 0)>(from);
  }

  Kept kept_;  ///< where A stays
};

}  // namespace vostok
