// What families of SpMM share that read A's values as CSR holds them and B as it lies: what the problem fixes, the
// operands, and how tunables of one name are read. Host and kernels read it.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/rules.h"

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
struct CsrProductTraits {
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
  Dtype bias_element = Dtype::f32;  ///< of the bias
};

template <FieldsOf<CsrProductTraits> S, class Visit>
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
  visit("bias_element", traits.bias_element);
}

/// The operands, and where each product's part of them lies.
struct CsrProductArgs {
  const void* values;  ///< nonzeros, CSR order
  const void* column_indices;
  const void* row_offsets;     ///< m + 1: int, or long long with wide_nonzeros
  const int* value_positions;  ///< read only where the load gathers
  const void* dense;           ///< B
  void* output;                ///< C
  const void* residual;        ///< lies as C does
  const void* bias;
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

/// Whether the kernel reads B as columns.
template <class Config>
constexpr bool reads_columns(const CsrProductTraits& traits, const Config& config) {
  return traits.dense_layout == Layout::column_major && !config.prepare_dense;
}

/// Whether the kernel looks up where each value lies.
template <class Config>
constexpr bool gathers_values(const CsrProductTraits& traits, const Config& config) {
  return traits.gathered_values && !config.pack_values;
}

/// Bytes that divide every row start of B as the kernel reads it: what was prepared is aligned.
template <class Config>
constexpr int read_alignment(const CsrProductTraits& traits, const Config& config) {
  return config.prepare_dense ? 16 : traits.dense_alignment;
}

/// Bytes that one store of C takes, and its alignment: wider ones are two.
template <class Config>
constexpr int store_alignment(const CsrProductTraits& traits, const Config& config) {
  const int bytes = config.dense_vector * size_of(traits.output);
  return bytes < 16 ? bytes : 16;
}

/// Values that one load takes, of the sparse_vector that one load of indices takes.
template <class Config>
constexpr int value_vector(const CsrProductTraits& traits, const Config& config) {
  if (gathers_values(traits, config)) return 1;
  const int aligned = (config.pack_values ? 16 : traits.value_alignment) / size_of(traits.element);
  return config.sparse_vector < aligned ? config.sparse_vector : aligned;
}

/// Bytes of one staged offset: prescaled offsets of a wide problem take eight.
template <class Config>
constexpr int staged_offset_bytes(const CsrProductTraits& traits, const Config& config) {
  return traits.wide_offsets && prescales_indices(config) ? 8 : 4;
}

/// Shared memory of the entries that the lanes of a row load for each other: value and offset per entry, and 16 bytes
/// that spread neighbours over the banks.
template <class Config>
constexpr int staged_bytes(const CsrProductTraits& traits, const Config& config) {
  return config.tile_nonzeros * (4 + staged_offset_bytes(traits, config)) + 16;
}

/// Rules of how B is read and C is stored, and of a block's columns. They rely on a threads_per_row of 1 to 32.
template <class Config>
constexpr void dense_rules(RuleCheck& rule, const CsrProductTraits& t, const Config& c) {
  rule("dense_vector is a power of two of at most 16 bytes", [&] { return is_vector(c.dense_vector, t.element); });
  rule("prepare_dense transposes a column-major B",
       [&] { return !c.prepare_dense || t.dense_layout == Layout::column_major; });
  rule("pack_values gathers the values of a transposed A", [&] { return !c.pack_values || t.gathered_values; });
  rule("a B that is read as columns has no neighbouring columns: dense_vector is 1",
       [&] { return !reads_columns(t, c) || c.dense_vector == 1; });
  rule("dense_vector is no wider than the alignment of B's rows",
       [&] { return c.dense_vector * size_of(t.element) <= read_alignment(t, c); });
  rule("dense_vector is no wider than the alignment of C's rows",
       [&] { return t.output_layout == Layout::column_major || store_alignment(t, c) <= t.output_alignment; });
  rule("tile_columns is a multiple of threads_per_row * dense_vector, of at most 8192",
       [&] { return within(c.tile_columns, 1, 8192) && c.tile_columns % (c.threads_per_row * c.dense_vector) == 0; });
  rule("min_blocks is 1 to 32", [&] { return within(c.min_blocks, 1, 32); });
}

}  // namespace vostok
