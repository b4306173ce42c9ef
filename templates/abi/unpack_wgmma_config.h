// What unpack_wgmma is asked, told and given: its traits, config and arguments (abi/unpack_wgmma.h).
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/packed_strips.h"
#include "abi/sums_again.h"
#include "abi/tensor_map.h"
#include "abi/unpack_sum.h"

namespace vostok {

/// What the problem fixes.
struct UnpackWgmmaTraits {
  Dtype element = Dtype::f32;  ///< of B
  Dtype output = Dtype::f32;
  bool batched = false;
  Layout dense_layout = Layout::row_major;
  Layout output_layout = Layout::row_major;
  int output_alignment = 16;  ///< bytes that divide every line start of C and of the residual
  Bias bias = Bias::none;
  Activation activation = Activation::none;
  Scale scale = Scale::one;
  bool residual = false;
  bool accumulate = false;
  int dense_vector =
      1;  ///< columns of B that lie side by side and are loaded at once; asked for where f32 nonzeros are left over
  bool long_sums = false;  ///< a slice of k is so long that sums are set aside on the way, to be added at its end: see
                           ///< long_sum_blocks()
  Dtype bias_element = Dtype::f32;  ///< of the bias
  bool certify = false;  ///< sums that splitting, or elements of B which A lacks, may have spoilt are made again
                         ///< (spmm/sums_again.h)
};

/// k blocks after which sums are set aside: adding on would round too often, all alike where all elements are.
consteval int long_sum_blocks() { return 64; }

/// The tunables.
struct UnpackWgmmaConfig {
  PackedMode mode = PackedMode::f16x3;
  PackedGrain grain = PackedGrain::pair;  ///< four: half the multiplications, by a 2:4 sparse A; what that leaves over,
                                          ///< in f32 beside them; whole: tensor cores read A, zeros too, from shared
                                          ///< memory, and nothing is unpacked
  int warpgroups = 2;                     ///< that multiply, 64 rows each; of every group
  int k_groups =
      1;  ///< groups of so many warpgroups, which take a tile's k blocks in turn and add up their sums at the end
  int tile_columns = 64;  ///< columns of B and C of a block
  int stages = 4;         ///< k blocks whose operands are in shared memory or on their way there
  int strip_pairs = 512;  ///< pairs for which a stage has room, for each strip of the tile; what does not fit is
                          ///< unpacked from global memory
  bool overlap = true;    ///< a k block is unpacked while the one before is multiplied: twice the registers for A; of
                          ///< whole strips, its products are queued behind those of the one before
  int promotion_blocks =
      1;            ///< k blocks after which sums are taken out of the tensor cores, whose additions cut; 0: never, and
                    ///< columns keep their scales where the block splits what the copy engine brings
  int k_split = 1;  ///< slices of k, each of a block of its own
  bool prepare_dense = true;  ///< a launch before cuts B into tiles (split_dense); else it is taken from where it lies,
                              ///< and f32 split by the block
  int producer_warps =
      1;  ///< that copy, and split an f32 B that no launch prepares; four and more give registers to the others
  int raster_rows = 8;         ///< row tiles that are walked before the next column tile
  int min_blocks = 1;          ///< blocks per multiprocessor that registers must allow
  bool stream_output = false;  ///< C is stored as data that will not be read soon
  bool tensor_copies = false;  ///< B is copied from where it lies by the copy engine (a tensor map), not by threads:
                               ///< f32 to be split by the block; with prepare_dense, rows that a launch made of columns
  bool cluster_sums =
      false;  ///< the blocks of a tile's slices are a cluster and add up their sums; else a second launch does
  bool stream_strips =
      false;  ///< strips are read as data that will not be read soon: weights that L2 cannot hold until the next call
  bool persistent = false;  ///< blocks fill the device once and go through the tiles: operands of the next tile come
                            ///< while C of the one before is stored
  int kept_blocks = 0;      ///< k blocks of A, all that there are, which stay in registers from one column tile of a
                            ///< persistent block to the next; 0: strips are unpacked for every tile
  int dense_rooms = 0;      ///< k blocks of B, all that there are or more, for which shared memory has room beside the
                            ///< stages: a persistent block takes every row tile of its columns while B stays; 0: B
                            ///< comes with A for every tile

  friend constexpr bool operator==(const UnpackWgmmaConfig&, const UnpackWgmmaConfig&) = default;
};

struct UnpackWgmmaArgs {
  PackedStrips strips;
  const void* dense;           ///< B, or its tiles
  WholeDense whole_dense;      ///< read where f32 nonzeros are left over, and where sums are made again
  const float* column_scales;  ///< of tiles; read where the mode scales
  void* output;
  const void* residual;  ///< lies as C does
  const void* bias;
  const float* device_scale;
  PartialSums partial;  ///< written instead of C where a second launch adds up slices
  long long m;
  long long n;
  long long k;
  long long dense_leading;  ///< elements between lines of B
  long long dense_stride;   ///< elements between two B of a batch
  long long output_leading;
  long long output_stride;
  unsigned batch;
  unsigned row_tiles;
  unsigned column_tiles;
  unsigned prepared_tiles;  ///< tiles of split_dense that cover n
  unsigned slice_blocks;    ///< k blocks of a slice; the last may have fewer
  float scale;
};

/// What the kernel takes: B's map too, where it copies by one.
template <bool tensor_copies>
using UnpackWgmmaKernelArgs = ArgsMaybeMapped<UnpackWgmmaArgs, tensor_copies>;

template <FieldsOf<UnpackWgmmaTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("element", traits.element);
  visit("output", traits.output);
  visit("batched", traits.batched);
  visit("dense_layout", traits.dense_layout);
  visit("output_layout", traits.output_layout);
  visit("output_alignment", traits.output_alignment);
  visit("bias", traits.bias);
  visit("activation", traits.activation);
  visit("scale", traits.scale);
  visit("residual", traits.residual);
  visit("accumulate", traits.accumulate);
  visit("dense_vector", traits.dense_vector);
  visit("long_sums", traits.long_sums);
  visit("bias_element", traits.bias_element);
  visit("certify", traits.certify);
}

template <FieldsOf<UnpackWgmmaConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("mode", config.mode);
  visit("grain", config.grain);
  visit("warpgroups", config.warpgroups);
  visit("k_groups", config.k_groups);
  visit("tile_columns", config.tile_columns);
  visit("stages", config.stages);
  visit("strip_pairs", config.strip_pairs);
  visit("overlap", config.overlap);
  visit("promotion_blocks", config.promotion_blocks);
  visit("k_split", config.k_split);
  visit("prepare_dense", config.prepare_dense);
  visit("producer_warps", config.producer_warps);
  visit("raster_rows", config.raster_rows);
  visit("min_blocks", config.min_blocks);
  visit("stream_output", config.stream_output);
  visit("tensor_copies", config.tensor_copies);
  visit("cluster_sums", config.cluster_sums);
  visit("stream_strips", config.stream_strips);
  visit("persistent", config.persistent);
  visit("kept_blocks", config.kept_blocks);
  visit("dense_rooms", config.dense_rooms);
}

}  // namespace vostok
