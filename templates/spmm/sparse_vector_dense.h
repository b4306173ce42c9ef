// B in shared memory: all of its few columns, a slot for each row, so that a nonzero takes what it multiplies in one
// load.
#pragma once

#include "abi/sparse_vector.h"
#include "parts/element.h"
#include "parts/loads.h"
#include "parts/shared.h"

namespace vostok {

/// A row of B as a block stages it.
template <class F>
using StagedRow = Vector<typename Element<staged_type(F::traits, F::config)>::Storage, F::config.columns>;

/// Shared memory of a block: where several warps share a row, their sums as well.
template <class F, bool shares_rows = (row_warps(F::config) > 1)>
struct SparseVectorShared {
  StagedRow<F> dense[F::config.dense_rows];
};
template <class F>
struct SparseVectorShared<F, true> {
  StagedRow<F> dense[F::config.dense_rows];
  float warp_sums[2][F::config.threads / 32][F::config.columns];
};

template <class F>
class StagedDense {
  static constexpr auto traits = F::traits;
  static constexpr auto config = F::config;
  static constexpr int columns = config.columns;
  using Shared = SparseVectorShared<F>;
  using Slot = StagedRow<F>;
  using Stored = typename Element<traits.element>::Storage;
  using Staged = typename Element<staged_type(traits, config)>::Storage;
  static constexpr int aligned = traits.dense_alignment / size_of(traits.element);
  static constexpr bool by_columns = traits.dense_layout == Layout::column_major;
  /// Rows of B that a thread stages at once, and whether it loads all columns of one at once: the alignment divides the
  /// length of lines too.
  static constexpr int height = by_columns ? aligned : 1;
  static constexpr bool whole_lines = !by_columns && aligned >= columns;

 public:
  __device__ StagedDense(const SparseVectorArgs& args, unsigned product)
      : dense_(static_cast<const Stored*>(args.dense) + product * args.dense_stride),
        leading_(args.dense_leading),
        k_(args.k),
        n_(args.n) {}

  /// Fills the slots of all rows of B, and makes columns past n zero. Every thread of the block calls it; a barrier
  /// follows.
  __device__ void fill() const {
    if constexpr (traits.flat_dense) fill_flat();
    else fill_lines();
  }

  /// The row of B whose slot lies `at` bytes into the slots.
  static __device__ void read(unsigned at, float (&row)[columns]) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(dynamic_shared<Shared>().dense);
    const Slot slot = *reinterpret_cast<const Slot*>(bytes + at);
#pragma unroll
    for (int j = 0; j < columns; ++j) row[j] = Element<staged_type(traits, config)>::to_float(slot.at[j]);
  }

 private:
  /// Slots lie as B does.
  __device__ void fill_flat() const {
    Staged* const elements = dynamic_shared<Shared>().dense[0].at;
    const long long count = k_ * columns;
#pragma unroll 4
    for (long long i = static_cast<long long>(threadIdx.x) * aligned; i < count;
         i += static_cast<long long>(config.threads) * aligned) {
      const auto part = load_global(reinterpret_cast<const Vector<Stored, aligned>*>(dense_ + i));
      Vector<Staged, aligned> whole;
#pragma unroll
      for (int j = 0; j < aligned; ++j) whole.at[j] = staged(part.at[j]);
      *reinterpret_cast<Vector<Staged, aligned>*>(elements + i) = whole;
    }
  }

  __device__ void fill_lines() const {
    Slot* const slots = dynamic_shared<Shared>().dense;
#pragma unroll 4
    for (long long row = static_cast<long long>(threadIdx.x) * height; row < k_;
         row += static_cast<long long>(config.threads) * height) {
      Stored elements[columns][height];
      load(row, elements);
#pragma unroll
      for (int i = 0; i < height; ++i) {
        Slot slot;
#pragma unroll
        for (int j = 0; j < columns; ++j) slot.at[j] = staged(elements[j][i]);
        slots[row + i] = slot;
      }
    }
  }

  static __device__ Staged staged(Stored element) {
    if constexpr (config.wide_dense) return Element<traits.element>::to_float(element);
    else return element;
  }

  __device__ void load(long long row, Stored (&elements)[columns][height]) const {
    if constexpr (whole_lines) {
      const auto line = load_global(reinterpret_cast<const Vector<Stored, columns>*>(dense_ + row * leading_));
#pragma unroll
      for (int j = 0; j < columns; ++j) elements[j][0] = line.at[j];
    } else {
#pragma unroll
      for (int j = 0; j < columns; ++j) {
        Vector<Stored, height> part = {};
        if (j < n_)
          part = load_global(reinterpret_cast<const Vector<Stored, height>*>(
              dense_ + (by_columns ? j * leading_ + row : row * leading_ + j)));
#pragma unroll
        for (int i = 0; i < height; ++i) elements[j][i] = part.at[i];
      }
    }
  }

  const Stored* dense_;
  long long leading_;
  long long k_;
  long long n_;
};

}  // namespace vostok
