// Steps on CSR structures in device memory. Everything is queued and nothing waits; inputs must live until it has run.
#pragma once

#include <cstdint>

#include <vostok/topology.hpp>

#include "ops/topology/queue.hpp"

namespace vostok::ops {

/// The stored types of the library's own arrays.
constexpr IntegerType integer_type(IndexType index) {
  return index == IndexType::u16 ? IntegerType::u16 : IntegerType::i32;
}
constexpr IntegerType offset_type(bool wide) { return wide ? IntegerType::i64 : IntegerType::i32; }
/// The narrowest type of column indices below `cols`.
constexpr IndexType narrowest_index(std::int64_t cols) { return cols <= 65536 ? IndexType::u16 : IndexType::i32; }

/// A structure in the library's own arrays.
struct CsrArrays {
  const void* row_offsets = nullptr;
  bool wide_offsets = false;  ///< int64, else int32
  const void* column_indices = nullptr;
  IndexType index = IndexType::i32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t nonzeros = 0;
};

/// The output arrays of a copy.
struct CsrDestination {
  void* row_offsets = nullptr;
  void* column_indices = nullptr;
  std::uint32_t* column_counts = nullptr;  ///< [cols], zeroed before; null: not needed
};

/// Copies `view`, which is in device memory, checks it and measures it. `shape`: types of the copy, sizes and the
/// expected number of nonzeros. `measures` must be zeroed before. Reads no array past its promised end, whatever the
/// offsets are.
void copy_and_check(const Queue& queue, const CsrView& view, const CsrArrays& shape, const CsrDestination& destination,
                    CsrMeasures* measures);

/// Measures the columns of a valid structure once more and, if `counts` is not null, counts the entries of each.
/// Both must be zeroed before.
void measure_columns(const Queue& queue, const CsrArrays& csr, std::uint32_t* counts, CsrMeasures* measures);

/// Row lengths measured from offsets alone.
void measure_rows(const Queue& queue, const void* row_offsets, bool wide, std::int64_t rows, std::int64_t nonzeros,
                  CsrMeasures* measures);

/// Row numbers by length, longest first; rows of one length keep their order: sparse::row_order.
void order_rows(const Queue& queue, const CsrArrays& csr, std::int64_t longest_row, std::int32_t* order);

/// Upper bound on the strips of a structure with these statistics.
std::int64_t strip_room(const TopologyStatistics& statistics, int strip_entries);
/// sparse::strips, padded with empty strips up to `strip_count`.
void cut_strips(const Queue& queue, const CsrArrays& csr, int strip_entries, Strip* strips, std::int64_t strip_count);

/// The transpose of `csr`, whose offsets exist already: writes value positions, and each entry's row as its index.
void transpose(const Queue& queue, const CsrArrays& csr, std::int32_t* value_positions, void* indices, IndexType index);

/// row * cols + column of every nonzero; int64 where `wide`, else int32.
void linear_indices(const Queue& queue, const CsrArrays& csr, void* output, bool wide);

/// Writes the dense matrix, row-major, zeros included; the values of repeated columns add up.
void to_dense(const Queue& queue, const CsrArrays& csr, const void* values, Dtype element, bool repeats, void* dense,
              std::int64_t leading);

/// The kernel of gather().
Step<GatherTraits> gather_step(IntegerType source_type, IntegerType stored_type, bool permuted);
/// stored[i] = source[positions[i]], or source[i] where `positions` is null.
void gather(const Queue& queue, const void* source, IntegerType source_type, const std::int32_t* positions,
            std::int64_t count, void* stored, IntegerType stored_type);

}  // namespace vostok::ops
