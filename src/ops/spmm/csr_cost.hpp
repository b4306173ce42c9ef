// What cost models share of families that read A's values as CSR holds them and B as it lies. Constants were fitted to
// measurements on an H200 (bench/notes/cost_models.md#all-families-of-spmm); other devices scale by multiprocessors and
// clock.
#pragma once

#include <algorithm>
#include <cmath>

#include "ops/limits.hpp"
#include "ops/machine.hpp"
#include "ops/spmm/csr_product.hpp"

namespace vostok::ops::csr_product {

/// Bytes that L2 delivers in a microsecond.
inline double l2_bytes_per_us(const Machine& machine) { return 16.1e6 * machine.speed(); }

/// Sizes as real numbers; nonzeros and m are those of the whole batch.
struct Sizes {
  double m, n, nonzeros, mean_row, longest_row, density, element_bytes, output_bytes, entry_bytes;
};

inline Sizes sizes_of(const SpmmQuery& query) {
  const TopologyStatistics& s = query.statistics;
  const auto m = static_cast<double>(std::max<std::int64_t>(s.rows, 1));
  const auto nonzeros = static_cast<double>(std::max<std::int64_t>(s.nonzeros, 1));
  const auto k = static_cast<double>(std::max<std::int64_t>(s.cols, 1));
  const auto batch = static_cast<double>(query.problem.batch);
  const double element_bytes = size_of(query.problem.element);
  return {.m = m * batch,
          .n = static_cast<double>(std::max<std::int64_t>(query.n.most, 1)),
          .nonzeros = nonzeros * batch,
          .mean_row = nonzeros / m,
          .longest_row = static_cast<double>(s.longest_row),
          .density = nonzeros / m / k,
          .element_bytes = element_bytes,
          .output_bytes = static_cast<double>(size_of(query.problem.output.value_or(query.problem.element))),
          .entry_bytes = element_bytes + (query.index == IndexType::u16 ? 2 : 4)};
}

/// Slow-down of loads of B if neighbouring lanes read different columns of a column-major B, a sector each.
template <class Config>
double scatter(const SpmmQuery& query, const Sizes& size, const Config& c) {
  constexpr double sector_bytes = 32;
  return query.problem.dense_layout == Layout::column_major && !c.prepare_dense && query.n.most > 1
             ? sector_bytes / size.element_bytes
             : 1;
}

/// Bytes of an entry; a value that is looked up adds its position and a sector.
template <class Config>
double entry_bytes(const SpmmQuery& query, const Sizes& size, const Config& c) {
  return size.entry_bytes + (query.problem.sparse_transposed && !c.pack_values ? 4 + 32 : 0);
}

/// Microseconds of L1 and shared memory for all loads: a wavefront of 128 bytes a cycle.
template <class Config>
double l1_us(const SpmmQuery& query, const Sizes& size, const Config& c, double column_tiles, double sparse_wavefronts,
             const Machine& machine) {
  constexpr double least = 0.25;  // wavefronts of a warp's load, if lanes read different rows of a narrow B
  const double dense_wavefronts =
      std::max(least, size.n * size.element_bytes * scatter(query, size, c) / 128 / column_tiles);
  return size.nonzeros * column_tiles * (dense_wavefronts + sparse_wavefronts) / machine.multiprocessors /
         machine.cycles_per_us;
}

/// Microseconds of L2 for what L1 misses: `rows_together` rows, which are resident together on an SM, share rows of B.
template <class Config>
double l2_us(const SpmmQuery& query, const Sizes& size, const Config& c, double column_tiles, double rows_together,
             const Machine& machine) {
  const double missed =
      (1 - std::pow(1 - std::min(size.density, 0.999), rows_together)) / (size.density * rows_together);
  const double dense_bytes =
      size.nonzeros * size.n * size.element_bytes * scatter(query, size, c) * (0.05 + 0.95 * missed);
  const double entry_total = size.nonzeros * entry_bytes(query, size, c);
  const double from_memory = entry_total > cached_bytes ? entry_total / machine.memory_bytes_per_us : 0;
  return std::max(from_memory, (dense_bytes + entry_total * column_tiles) / l2_bytes_per_us(machine));
}

/// Microseconds of the launches before the product; each reads and writes what it prepares.
template <class Config>
double preparation_us(const SpmmQuery& query, const Sizes& size, const Config& c, const Machine& machine) {
  constexpr double launch_us = 1.5;
  const double dense_bytes =
      static_cast<double>(query.statistics.cols * query.problem.batch) * size.n * size.element_bytes;
  double us = 0;
  if (c.prepare_dense && query.statistics.nonzeros > 0) us += launch_us + 2 * dense_bytes / l2_bytes_per_us(machine);
  if (c.pack_values) us += launch_us + size.nonzeros * (4 + 32 + size.element_bytes) / l2_bytes_per_us(machine);
  return us;
}

inline double output_us(const SpmmQuery& query, const Sizes& size, const Machine& machine) {
  const double output_bytes = size.m * size.n * size.output_bytes;
  const double dense_rows = std::min(static_cast<double>(query.statistics.cols * query.problem.batch), size.nonzeros);
  const double dense_bytes = dense_rows * size.n * size.element_bytes;
  if (output_bytes < cached_bytes) return output_bytes / l2_bytes_per_us(machine);
  return (output_bytes + dense_bytes) / machine.memory_bytes_per_us;
}

/// Microseconds of storing a column-major C: each sector holds the rows that a warp computes side by side.
inline double scattered_output_us(const SpmmQuery& query, const Sizes& size, int side_by_side, const Machine& machine) {
  constexpr double sectors_per_us = 6.5e4;  // an empty matrix of 512 rows: 2.8 us more at n = 256, 16.7 at n = 2048
  constexpr double sector_bytes = 32;
  if (query.problem.output_layout == Layout::row_major || query.n.most <= 1) return 0;
  const double rows = std::min<double>(side_by_side, sector_bytes / size.output_bytes);
  return size.m * size.n / rows / sectors_per_us / machine.speed();
}

/// Whether neighbouring rows are computed side by side. The row swizzle sorts by length and keeps the order of rows of
/// one length.
inline bool keeps_rows_together(const SpmmQuery& query, bool row_swizzle) {
  return !row_swizzle || query.statistics.row_variation == 0;
}

/// Combines three resources: the longest counts in full and the others by a share, since their use never overlaps
/// perfectly.
inline double overlapped_us(double l1, double l2, double latency) {
  constexpr double overlap_loss = 0.372;
  const double longest = std::max({l1, l2, latency});
  return longest + overlap_loss * (l1 + l2 + latency - longest);
}

}  // namespace vostok::ops::csr_product
