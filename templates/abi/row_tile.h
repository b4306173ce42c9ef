// row_tile, the SpMM of "Sparse GPU Kernels for Deep Learning" (SC20): what host and kernel share.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"

namespace vostok {

/// Which tiles neighbouring blocks take.
enum class Raster : unsigned char {
  rows_first,    ///< row tiles of one column tile: blocks that run together share columns of B in L1
  columns_first  ///< column tiles of one row tile
};

/// What lanes do whose columns lie past the last one.
enum class ColumnEdge : unsigned char {
  predicated,  ///< every load of B is switched off for them
  clamped,     ///< they read the last columns and store nothing
  unchecked    ///< there are none: tile_columns divides n (the paper's predication removed, V-D3)
};

constexpr const char* name(Raster value) {
  switch (value) {
    case Raster::rows_first: return "rows_first";
    case Raster::columns_first: return "columns_first";
  }
  return nullptr;
}

constexpr const char* name(ColumnEdge value) {
  switch (value) {
    case ColumnEdge::predicated: return "predicated";
    case ColumnEdge::clamped: return "clamped";
    case ColumnEdge::unchecked: return "unchecked";
  }
  return nullptr;
}

constexpr const char* type_name(Raster) { return "Raster"; }
constexpr const char* type_name(ColumnEdge) { return "ColumnEdge"; }

/// What the problem fixes.
struct RowTileTraits {
  Dtype element = Dtype::f32;
  Dtype output = Dtype::f32;
  IndexType index = IndexType::i32;
  bool wide_offsets = false;   ///< k * leading dimension * element size reaches 2^31 bytes: offsets into B take 64 bits
  bool wide_nonzeros = false;  ///< 2^31 nonzeros and more: row offsets and positions take 64 bits
  bool blocked_sum = false;    ///< sums of at most 256 products go into a second accumulator
  bool batched = false;
  bool gathered_values = false;  ///< A is transposed: each value lies where value_positions says
  Layout dense_layout = Layout::row_major;
  Layout output_layout = Layout::row_major;
  int dense_alignment = 16;   ///< bytes that divide every row start of B
  int output_alignment = 16;  ///< bytes that divide every row start of C and of the residual
  int value_alignment = 16;   ///< bytes that divide the start of every product's values
  Bias bias = Bias::none;
  Activation activation = Activation::none;
  Scale scale = Scale::one;
  bool residual = false;
  bool accumulate = false;
};

/// The tunables. The paper's techniques can be switched off one by one.
struct RowTileConfig {
  int tile_rows = 4;                     ///< rows of a block (1-D tiling, V-A)
  int tile_columns = 64;                 ///< columns of B and C of a block
  int threads_per_row = 16;              ///< lanes side by side along the columns (subwarp tiling, V-B1)
  int row_split = 2;                     ///< subwarps of one warp that share a row's entries
  int tile_nonzeros = 128;               ///< entries of a row per step
  int sparse_vector = 4;                 ///< neighbouring entries that a lane loads
  int dense_vector = 4;                  ///< elements per load of B and store of C
  bool reverse_offset_alignment = true;  ///< steps start at the vector boundary before the row (V-B2)
  bool row_swizzle = true;               ///< rows in order of length (V-C)
  bool deal_rows = false;                ///< blocks get long and short rows alike: their rows lie a whole grid apart in that order
  bool prescale_indices = true;          ///< column indices become byte offsets while they are staged (V-D1)
  int residue_unroll = 8;                ///< entries per iteration where a step is not whole (V-D2)
  ColumnEdge column_edge = ColumnEdge::clamped;
  int loads_in_flight = 8;       ///< loads of B issued before the first of them is used
  bool overlap_batches = false;  ///< the loads of the next batch are issued before this one is multiplied
  int min_blocks = 4;            ///< blocks per multiprocessor that registers must allow
  bool prefetch_sparse = true;   ///< the next step's entries are loaded while this one's are multiplied
  Raster raster = Raster::rows_first;
  bool stream_output = false;  ///< C is stored as data that will not be read soon
  bool prepare_dense = false;  ///< a column-major B is transposed into the workspace first
  bool pack_values = false;    ///< the values of a transposed A are gathered into the workspace first, not in the load

  friend constexpr bool operator==(const RowTileConfig&, const RowTileConfig&) = default;
};

struct RowTileArgs {
  const void* values;  ///< nonzeros, CSR order
  const void* column_indices;
  const void* row_offsets;     ///< m + 1: int, or long long with wide_nonzeros
  const int* row_order;        ///< m rows by length, longest first; read only with row_swizzle
  const int* value_positions;  ///< read only where the load gathers
  const void* dense;           ///< B
  void* output;                ///< C
  const void* residual;        ///< lies as C does
  const float* bias;
  const float* device_scale;
  long long n;
  long long dense_leading;   ///< elements between rows of B (columns, where the kernel reads it column-major)
  long long output_leading;  ///< the same of C
  long long value_stride;    ///< elements between two of the batch; 0: shared values
  long long dense_stride;
  long long output_stride;
  unsigned long long nonzeros;
  unsigned m;
  unsigned batch;
  unsigned slow_tiles;  ///< tiles of one product in the direction that varies slowly
  float scale;
};

template <FieldsOf<RowTileTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("element", traits.element);
  visit("output", traits.output);
  visit("index", traits.index);
  visit("wide_offsets", traits.wide_offsets);
  visit("wide_nonzeros", traits.wide_nonzeros);
  visit("blocked_sum", traits.blocked_sum);
  visit("batched", traits.batched);
  visit("gathered_values", traits.gathered_values);
  visit("dense_layout", traits.dense_layout);
  visit("output_layout", traits.output_layout);
  visit("dense_alignment", traits.dense_alignment);
  visit("output_alignment", traits.output_alignment);
  visit("value_alignment", traits.value_alignment);
  visit("bias", traits.bias);
  visit("activation", traits.activation);
  visit("scale", traits.scale);
  visit("residual", traits.residual);
  visit("accumulate", traits.accumulate);
}

template <FieldsOf<RowTileConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("tile_rows", config.tile_rows);
  visit("tile_columns", config.tile_columns);
  visit("threads_per_row", config.threads_per_row);
  visit("row_split", config.row_split);
  visit("tile_nonzeros", config.tile_nonzeros);
  visit("sparse_vector", config.sparse_vector);
  visit("dense_vector", config.dense_vector);
  visit("reverse_offset_alignment", config.reverse_offset_alignment);
  visit("row_swizzle", config.row_swizzle);
  visit("deal_rows", config.deal_rows);
  visit("prescale_indices", config.prescale_indices);
  visit("residue_unroll", config.residue_unroll);
  visit("column_edge", config.column_edge);
  visit("loads_in_flight", config.loads_in_flight);
  visit("overlap_batches", config.overlap_batches);
  visit("min_blocks", config.min_blocks);
  visit("prefetch_sparse", config.prefetch_sparse);
  visit("raster", config.raster);
  visit("stream_output", config.stream_output);
  visit("prepare_dense", config.prepare_dense);
  visit("pack_values", config.pack_values);
}

/// Lanes that share a row's entries: its subwarps.
constexpr int lanes_per_row(const RowTileConfig& config) { return config.threads_per_row * config.row_split; }

constexpr int threads(const RowTileConfig& config) { return config.tile_rows * lanes_per_row(config); }

/// Entries of a row that one lane multiplies per step.
constexpr int entries_per_lane(const RowTileConfig& config) { return config.tile_nonzeros / config.row_split; }

/// Whether the kernel reads B as columns.
constexpr bool reads_columns(const RowTileTraits& traits, const RowTileConfig& config) {
  return traits.dense_layout == Layout::column_major && !config.prepare_dense;
}

/// Whether the kernel looks up where each value lies.
constexpr bool gathers_values(const RowTileTraits& traits, const RowTileConfig& config) { return traits.gathered_values && !config.pack_values; }

/// Bytes that divide every row start of B as the kernel reads it: what was prepared is aligned.
constexpr int read_alignment(const RowTileTraits& traits, const RowTileConfig& config) { return config.prepare_dense ? 16 : traits.dense_alignment; }

/// Bytes that one store of C takes, and its alignment: wider ones are two.
constexpr int store_alignment(const RowTileTraits& traits, const RowTileConfig& config) {
  const int bytes = config.dense_vector * size_of(traits.output);
  return bytes < 16 ? bytes : 16;
}

/// Values that one load takes, of the sparse_vector that one load of indices takes.
constexpr int value_vector(const RowTileTraits& traits, const RowTileConfig& config) {
  if (gathers_values(traits, config)) return 1;
  const int aligned = (config.pack_values ? 16 : traits.value_alignment) / size_of(traits.element);
  return config.sparse_vector < aligned ? config.sparse_vector : aligned;
}

/// Bytes of one staged offset: prescaled offsets of a wide problem take eight.
constexpr int staged_offset_bytes(const RowTileTraits& traits, const RowTileConfig& config) {
  return traits.wide_offsets && config.prescale_indices ? 8 : 4;
}

/// Dynamic shared memory of a block: value and offset per entry, and 16 bytes per row that spread neighbouring rows over the banks.
constexpr int shared_bytes(const RowTileTraits& traits, const RowTileConfig& config) {
  return config.tile_rows * (config.tile_nonzeros * (4 + staged_offset_bytes(traits, config)) + 16);
}

}  // namespace vostok
