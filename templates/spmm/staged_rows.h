// SpMM with B in shared memory: C = A B, A sparse with sorted rows.
//
// A is cut along k in panels (abi/panels.h). A block has a tile of columns and warps * rows_abreast * rows_per_lane
// rows of A. It copies panel after panel of B's columns to shared memory, some stages ahead, and multiplies each with
// its rows' entries of that panel: threads_per_row lanes a row, rows_abreast rows at a time, rows_per_lane of them one
// after another, whose sums stay in registers. So every element of B that is multiplied comes from shared memory, and
// only once from L2 for all rows of a block. Every sum is in f32.
//
// Where all of k is one panel, a block may go on to its next rows (row_rounds) while B stays: then B crosses once for
// more rows than sums have registers, and warps wait for one another once.
//
// Slices of panels may go to different blocks; staged_rows_sum.h adds what they leave, in order.
//
// Elements that A lacks never touch B.
#pragma once

#include "abi/either.h"
#include "abi/fixed.h"
#include "abi/staged_rows.h"
#include "parts/dependent_launch.h"
#include "parts/shared.h"
#include "parts/warp.h"
#include "spmm/panel_copies.h"
#include "spmm/panel_entries.h"
#include "spmm/panel_rows.h"
#include "spmm/panel_sum.h"
#include "spmm/partial_rows.h"
#include "spmm/row_output.h"
#include "spmm/staying_rows.h"
#include "spmm/tile_index.h"

namespace vostok {

template <class F>
struct StagedPanels {
  Panel<F> panels[F::config.stages];
  __device__ void clear_zeros() {}
};

/// With what entries of no value multiply.
template <class F>
struct FilledPanels : StagedPanels<F> {
  static constexpr unsigned words = zeros_bytes(F::traits, F::config) / 4;
  alignas(16) unsigned zeros[words];

  __device__ void clear_zeros() {
    for (unsigned i = threadIdx.x; i < words; i += threads(F::config)) zeros[i] = 0;
  }
};

template <class F>
struct StagedRowsShared : Either<StagedPanels<F>, FilledPanels<F>, fills_rows(F::config)> {
  EntryChunk<F> entries[F::config.warps * rows_abreast(F::config)];
};

/// The rows of a warp, their sums, and what they multiply.
template <class F>
class RowProducts {
  static constexpr auto config = F::config;
  static constexpr unsigned rows = config.rows_per_lane;
  static constexpr unsigned ahead = rows_ahead(config);
  static constexpr bool filled = fills_rows(config);
  static constexpr unsigned most_entries = config.tile_nonzeros;
  static constexpr unsigned most_products = 256;  ///< of a block of sums
  using Rows = Either<WarpRows<F>, StayingRows<F>, dense_stays(config)>;

 public:
  /// Of a tile of rows; of a group of tiles where B stays.
  __device__ RowProducts(const StagedRowsArgs& args, const Operands<F>& operands, unsigned tile)
      : rows_(args, tile),
        entries_(args, operands, dynamic_shared<StagedRowsShared<F>>().entries[threadIdx.x / config.threads_per_row]) {}

  /// Starts with what Rows::start asks for.
  template <class... Place>
  __device__ void start(Place... place) {
    rows_.start(place...);
#pragma unroll
    for (unsigned i = 0; i < ahead; ++i) entries_.load(i, rows_.segment(i));
  }

  /// Adds a panel, which lies at a stage. The entries of its first rows are on their way; those of the next panel's, or
  /// of the next round's, are at the end.
  __device__ void add(unsigned panel, unsigned stage) {
    auto& shared = dynamic_shared<StagedRowsShared<F>>();
    const char* const panels = reinterpret_cast<const char*>(
        &shared.panels[0].at[0][threadIdx.x % config.threads_per_row * config.dense_vector]);
    const unsigned base = stage * sizeof(Panel<F>) - panel * static_cast<unsigned>(sizeof(Panel<F>));
    PanelSegment segments[ahead];
#pragma unroll
    for (unsigned i = 0; i < ahead; ++i) segments[i] = rows_.segment(i);
#pragma unroll
    for (unsigned i = 0; i < rows; ++i) {
      const PanelSegment next = rows_.segment(i + ahead);
      add_row(sums_[i], i % ahead, segments[i % ahead], next, panels, base);
      segments[i % ahead] = next;
    }
  }

  __device__ void next_panel() { rows_.advance(); }

  /// Goes on to the rows of the next round, whose sums are zero: whether there is one.
  __device__ bool next_round() {
#pragma unroll
    for (unsigned i = 0; i < rows; ++i) sums_[i] = {};
    return rows_.advance();
  }

  /// store(sum, row) for every row that exists. What an activation makes of a row is long: one store in code then.
  template <class Store>
  __device__ void store_each(Store store) const {
    if constexpr (F::traits.activation == Activation::none) {
#pragma unroll
      for (unsigned i = 0; i < rows; ++i) store_existing(store, sums_[i], i);
    } else {
#pragma unroll 1
      for (unsigned i = 0; i < rows; ++i) {
        PanelSum<F> sum = sums_[0];
#pragma unroll
        for (unsigned j = 1; j < rows; ++j)
          if (i == j) sum = sums_[j];
        store_existing(store, sum, i);
      }
    }
  }

 private:
  template <class Store>
  __device__ void store_existing(Store store, const PanelSum<F>& sum, unsigned step) const {
    const unsigned row = rows_.row(step);
    if (row != Rows::no_row) store(sum, row);
  }

  /// The rows of a warp take the same number of rounds, so that they synchronise together and stay converged.
  __device__ void add_row(PanelSum<F>& total, unsigned set, PanelSegment segment, const PanelSegment& next,
                          const char* panels, unsigned base) {
    constexpr bool blocked = F::traits.blocked_sum;
    constexpr unsigned rounds_of_block = most_products / most_entries;
    unsigned longest = warp_maximum<config.threads_per_row>(segment.end - segment.begin);
    if (longest == 0) return entries_.load(set, next);
    PanelSum<F> sum;
    if constexpr (!blocked) sum = total;
#pragma unroll 1
    for (unsigned round = 0; longest > 0; ++round) {
      const unsigned left = segment.end - segment.begin;
      const unsigned count = left < most_entries ? left : most_entries;
      const unsigned most = longest < most_entries ? longest : most_entries;
      longest -= most;
      entries_.publish(set, count, base);
      segment.begin += count;
      const bool last = longest == 0;
      entries_.load(set, {last ? next.begin : segment.begin, last ? next.end : segment.end});
      sum.add(entries_, panels, filled ? most : count);
      entries_.release();
      if constexpr (blocked)
        if (round % rounds_of_block == rounds_of_block - 1) total.add(sum), sum = {};
    }
    if constexpr (blocked) total.add(sum);
    else total = sum;
  }

  Rows rows_;
  PanelEntries<F> entries_;
  PanelSum<F> sums_[rows];
};

/// Multiplies the panels [first, end), each copied stages - 1 panels ahead.
template <class F>
__device__ inline void multiply_panels(RowProducts<F>& products, const PanelCopies<F>& copies, unsigned first,
                                       unsigned end) {
  constexpr unsigned stages = F::config.stages;
  auto& shared = dynamic_shared<StagedRowsShared<F>>();
  if (first >= end) return;
#pragma unroll
  for (unsigned i = 0; i + 1 < stages; ++i) {
    if (first + i < end) copies.copy(shared.panels[i], first + i);
    commit_async();
  }
  products.start(first, end);
  unsigned stage = 0;
  unsigned free_stage = stages - 1;
#pragma unroll 1
  for (unsigned panel = first; panel < end; ++panel) {
    if constexpr (stages > 1) wait_async<static_cast<int>(stages) - 2>();
    // The panel's copies are seen by all, and all have left the stage that is copied to next.
    __syncthreads();
    if (panel + stages - 1 < end) copies.copy(shared.panels[free_stage], panel + stages - 1);
    commit_async();
    if constexpr (stages == 1) {
      wait_async<0>();
      __syncthreads();
    }
    products.add(panel, stage);
    products.next_panel();
    free_stage = stage;
    stage = stage + 1 == stages ? 0 : stage + 1;
  }
}

/// Rows of a group, tile after tile, by a B that is one panel. store() stores what a tile comes to.
template <class F, class Store>
__device__ inline void multiply_rounds(RowProducts<F>& products, const PanelCopies<F>& copies, Store store) {
  copies.copy(dynamic_shared<StagedRowsShared<F>>().panels[0], 0);
  commit_async();
  products.start();
  wait_async<0>();
  __syncthreads();
#pragma unroll 1
  do {
    products.add(0, 0);
    store();
  } while (products.next_round());
}

template <class F>
__global__ void __launch_bounds__(threads(F::config), F::config.min_blocks)
    staged_rows(const __grid_constant__ StagedRowsArgs args) {
  constexpr auto config = F::config;
  static_assert(keeps_rules<F>());
  static_assert(sizeof(StagedRowsShared<F>) == shared_bytes(F::traits, config), "shared_bytes differs from the layout");
  const CsrProductArgs& product = args.product;
  const auto tile = TileIndex<F>::of_block(product);
  if (!tile.exists(product, 1, args.row_groups * args.slices)) return;

  const Operands<F> operands = operands_of<F>(product, tile.product);
  const PanelCopies<F> copies(args, operands, tile.column_tile * config.tile_columns);
  const LaneColumns<F> columns{tile.first_column(threadIdx.x % config.threads_per_row), product.n};
  const unsigned slice = config.k_split == 1 ? 0 : tile.row_tile / args.row_groups;
  RowProducts<F> products(args, operands, tile.row_tile - slice * args.row_groups);
  const auto store_rows = [&] {
    products.store_each(
        [&](const PanelSum<F>& sum, unsigned row) { store_row(sum, product, operands, columns, row, true); });
  };
  dynamic_shared<StagedRowsShared<F>>().clear_zeros();
  wait_for_previous_launch();
  if constexpr (dense_stays(config)) {
    multiply_rounds(products, copies, store_rows);
    allow_next_launch();
  } else {
    const unsigned first = slice * args.slice_panels < args.panels ? slice * args.slice_panels : args.panels;
    const unsigned end = args.panels - first < args.slice_panels ? args.panels : first + args.slice_panels;
    multiply_panels(products, copies, first, end);
    allow_next_launch();
    if constexpr (config.k_split > 1) {
      const PartialRows partial(args, tile.product, slice);
      products.store_each([&](const PanelSum<F>& sum, unsigned row) { store_piece(sum, partial.row(row), columns); });
    } else {
      store_rows();
    }
  }
}

}  // namespace vostok
