// Products of attention's gradient by wgmma, of lines in slabs (attention/backward_slabs.h): those of 16-bit elements,
// or of 16-bit terms, which have more parts than one. PTX only.
#pragma once

#include "abi/fused_backward_wgmma.h"
#include "attention/attention_work.h"
#include "attention/backward_slabs.h"
#include "attention/score_scales.h"
#include "attention/weight_scale.h"
#include "parts/wgmma.h"

namespace vostok {

/// Queues the products of own lines with a tile's, each of `size` elements in parts of so many bytes.
template <class F, int size>
__device__ inline void multiply_own_lines(float (&sums)[tile_keys() / 8][4], unsigned own, int own_part_bytes,
                                          unsigned lines, int part_bytes) {
  const unsigned long long a = dense_descriptor(own, 0), b = dense_descriptor(lines, 0);
  begin_multiplications();
  bool adds = false;
  visit_products<line_parts(F::traits)>([&](int own_part, int part) {
#pragma unroll
    for (int k = 0; k < size / 16; ++k) {
      const unsigned at = k / 4 * BackwardSlabs<F>::bytes + k % 4 * 32;
      WarpgroupMma<tile_keys()>::template multiply_shared<multiplied_type(F::traits), DenseLine::k, DenseLine::k>(
          flat_sums(sums), moved_descriptor(a, own_part * own_part_bytes + at),
          moved_descriptor(b, part * part_bytes + at), adds);
      adds = true;
    }
  });
  commit_multiplications();
}

/// Queues the product of packed weights with a tile's lines; `adds`: to what is there.
template <class F, int width>
__device__ inline void multiply_weighted_lines(float (&sums)[width / 8][4], bool adds,
                                               const unsigned (&packed)[line_parts(F::traits)][tile_keys() / 16][4],
                                               unsigned lines, int part_bytes) {
  const unsigned long long b = dense_descriptor(lines, BackwardSlabs<F>::bytes);
  begin_multiplications();
  visit_products<line_parts(F::traits)>([&](int own_part, int part) {
#pragma unroll
    for (int j = 0; j < tile_keys() / 16; ++j) {
      WarpgroupMma<width>::template multiply<multiplied_type(F::traits), DenseLine::columns>(
          flat_sums(sums), packed[own_part][j], moved_descriptor(b, part * part_bytes + j * 2048), adds);
      adds = true;
    }
  });
  commit_multiplications();
}

/// Sums of a tile's lines by weights, which are relative to the largest so far. Sums of a step are added to those
/// before by CUDA cores, as tensor cores round towards zero.
template <class F, int width>
class WeightedSums {
  static constexpr int parts = line_parts(F::traits), steps = tile_keys() / 16;

 public:
  /// Adds a tile's, of lines in parts of so many bytes, whose powers of two lie at `powers`.
  __device__ void add(WeightScale& scale, float (&weights)[tile_keys() / 8][4], unsigned lines, int part_bytes,
                      SharedAddress powers) {
    float factors[2];
    scale.weigh(weights, factors, powers);
    scale_sums(sums_, factors);
    unsigned packed[parts][steps][4];
    pack_parts<F>(packed, weights);
    if constexpr (promotes(F::traits)) {
      float step_sums[width / 8][4];
      multiply_weighted_lines<F, width>(step_sums, false, packed, lines, part_bytes);
      wait_multiplications();
      settle_multiplications(step_sums);
#pragma unroll
      for (int i = 0; i < width / 2; ++i) sums_[i / 4][i % 4] += step_sums[i / 4][i % 4];
    } else {
      multiply_weighted_lines<F, width>(sums_, true, packed, lines, part_bytes);
      wait_multiplications();
      settle_multiplications(sums_);
    }
  }

  __device__ float (&sums())[width / 8][4] { return sums_; }

 private:
  float sums_[width / 8][4] = {};
};

/// Of a kernel without.
template <class F>
class WeightedSums<F, 0> {};

}  // namespace vostok
