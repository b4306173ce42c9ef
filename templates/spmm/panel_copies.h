// Panels of B on their way to shared memory, by copies that run beside the computation.
#pragma once

#include "parts/async_copy.h"
#include "spmm/row_entries.h"

namespace vostok {

/// A panel's rows of B, the columns of the block's tile. Rows past k and columns past n hold anything: no entry names
/// them, and what is summed of them is not stored.
template <class F>
struct Panel {
  using Stored = typename Element<F::traits.element>::Storage;
  alignas(16) Stored at[F::config.panel_rows][F::config.tile_columns];
};

/// The copies that one thread makes: of the same columns of every few rows.
template <class F>
class PanelCopies {
  static constexpr auto config = F::config;
  using Stored = typename Panel<F>::Stored;
  using Piece = Vector<Stored, config.dense_vector>;
  static constexpr int pieces = config.tile_columns / config.dense_vector;
  static constexpr int rows_at_once = threads(config) / pieces;

 public:
  __device__ PanelCopies(const StagedRowsArgs& args, const Operands<F>& operands, long long first_column)
      : row_(threadIdx.x / pieces),
        piece_(threadIdx.x % pieces * config.dense_vector),
        k_(args.k),
        leading_(args.product.dense_leading) {
    const long long column = first_column + piece_;
    wanted_ = column < args.product.n;
    source_ = operands.dense + row_ * leading_ + column;
  }

  /// Queues this thread's share of a panel, without a commit.
  __device__ void copy(Panel<F>& to, unsigned panel) const {
    if (!wanted_) return;
    const long long first = static_cast<long long>(panel) * config.panel_rows;
    copy_rows(to, source_ + first * leading_,
              k_ - first < config.panel_rows ? static_cast<unsigned>(k_ - first) : config.panel_rows);
  }

 private:
  __device__ void copy_rows(Panel<F>& to, const Stored* source, unsigned rows) const {
    const long long step = rows_at_once * leading_;
#pragma unroll
    for (unsigned i = 0; i < (config.panel_rows + rows_at_once - 1) / rows_at_once; ++i, source += step)
      if (row_ + i * rows_at_once < rows) copy_piece(&to.at[row_ + i * rows_at_once][piece_], source);
  }

  /// Pieces of two bytes are too small for copies that run by themselves.
  static __device__ void copy_piece(Stored* to, const Stored* source) {
    if constexpr (sizeof(Piece) >= 4) copy_async<static_cast<int>(sizeof(Piece))>(to, source);
    else *reinterpret_cast<Piece*>(to) = load_global(reinterpret_cast<const Piece*>(source));
  }

  unsigned row_;
  unsigned piece_;
  long long k_;
  long long leading_;
  bool wanted_;
  const Stored* source_;
};

}  // namespace vostok
