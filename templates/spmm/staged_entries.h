// A run of entries through shared memory: the lanes that share it load different entries with vector loads and read
// each other's, four at a time (paper, V-A and V-B).
#pragma once

#include "parts/shared.h"
#include "spmm/row_entries.h"

namespace vostok {

/// One step of a run. The last member spreads the runs of a warp over the banks.
template <class F>
struct StagedStep {
  static constexpr bool eight_bytes = staged_offset_bytes(F::traits, F::config) == 8;
  using StagedOffset = typename UnsignedOf<eight_bytes>::Type;
  alignas(16) float values[F::config.tile_nonzeros];
  alignas(16) StagedOffset offsets[F::config.tile_nonzeros];
  alignas(16) unsigned spread[4];
};

/// Bytes between two rows of B.
template <class F>
__device__ inline Offset<F> row_bytes(const CsrProductArgs& args) {
  if constexpr (reads_columns(F::traits, F::config)) return size_of(F::traits.element);
  else return static_cast<Offset<F>>(args.dense_leading) * size_of(F::traits.element);
}

/// What is staged of a column: with prescale_indices the offset of its row of B.
template <class F>
__device__ inline typename StagedStep<F>::StagedOffset stage_offset(const CsrProductArgs& args, Offset<F> column) {
  return static_cast<typename StagedStep<F>::StagedOffset>(prescales_indices(F::config) ? column * row_bytes<F>(args)
                                                                                        : column);
}

/// Where entry `i` of a lane's batch of `count` lies within a step: neighbours that one load reads go round the
/// subwarps.
template <class F, int count>
struct StagedBatch {
  static constexpr int width = count < 4 ? count : 4;
  static constexpr unsigned subwarps = lanes_per_row(F::config) / F::config.threads_per_row;

  static __device__ constexpr unsigned position(unsigned batch, int i, unsigned subwarp) {
    return ((batch * count + i) / width * subwarps + subwarp) * width + i % width;
  }

  static __device__ void read_values(const StagedStep<F>& step, unsigned batch, unsigned subwarp,
                                     float (&values)[count]) {
#pragma unroll
    for (int i = 0; i < count; i += width) {
      const auto read = *reinterpret_cast<const Vector<float, width>*>(&step.values[position(batch, i, subwarp)]);
#pragma unroll
      for (int j = 0; j < width; ++j) values[i + j] = read.at[j];
    }
  }

  static __device__ void read_offsets(const CsrProductArgs& args, const StagedStep<F>& step, unsigned batch,
                                      unsigned subwarp, Offset<F> (&offsets)[count]) {
#pragma unroll
    for (int i = 0; i < count; i += width) {
      const auto read = *reinterpret_cast<const Vector<typename StagedStep<F>::StagedOffset, width>*>(
          &step.offsets[position(batch, i, subwarp)]);
#pragma unroll
      for (int j = 0; j < width; ++j)
        offsets[i + j] = prescales_indices(F::config) ? read.at[j] : read.at[j] * row_bytes<F>(args);
    }
  }
};

template <class F>
class StagedEntries {
  static constexpr auto config = F::config;
  static constexpr unsigned step_length = config.tile_nonzeros;
  static constexpr int loads = (config.tile_nonzeros + lanes_per_row(config) * config.sparse_vector - 1) /
                               (lanes_per_row(config) * config.sparse_vector);
  static_assert(sizeof(StagedStep<F>) == staged_bytes(F::traits, F::config), "staged_bytes differs from the layout");

 public:
  __device__ StagedEntries(const CsrProductArgs& args, const Operands<F>& operands, const EntrySpan<F>& span,
                           StagedStep<F>& step, unsigned lane)
      : args_(args), operands_(operands), span_(span), step_(step), lane_(lane) {}

  /// Starts loading the step at `step_start`.
  __device__ void load(Position<F> step_start) {
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      packets_[i] = {};
      const Position<F> position = step_start + slot(i);
      if (slot(i) < step_length && position < span_.end)
        packets_[i] = load_packet<F>(args_, operands_, span_, position);
    }
  }

  /// Makes the loaded step readable by the run's lanes. Entries outside the span become zeros.
  __device__ void publish(Position<F> step_start) {
    using Element = Element<F::traits.element>;
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      if (slot(i) >= step_length) break;
      Vector<float, config.sparse_vector> values;
      Vector<typename StagedStep<F>::StagedOffset, config.sparse_vector> offsets;
#pragma unroll
      for (int j = 0; j < config.sparse_vector; ++j) {
        const bool own = span_.holds(step_start + slot(i) + j);
        values.at[j] = own ? Element::to_float(packets_[i].values.at[j]) : 0.0F;
        offsets.at[j] = own ? stage_offset<F>(args_, packets_[i].columns.at[j]) : 0;
      }
      *reinterpret_cast<decltype(values)*>(&step_.values[slot(i)]) = values;
      *reinterpret_cast<decltype(offsets)*>(&step_.offsets[slot(i)]) = offsets;
    }
    __syncwarp();
  }

  /// Every lane has read the step.
  __device__ void release() { __syncwarp(); }

  template <int count>
  __device__ Batch<F, count> read(unsigned batch, unsigned subwarp) const {
    Batch<F, count> entries;
    StagedBatch<F, count>::read_values(step_, batch, subwarp, entries.values);
    StagedBatch<F, count>::read_offsets(args_, step_, batch, subwarp, entries.offsets);
    return entries;
  }

 private:
  __device__ unsigned slot(int i) const { return (i * lanes_per_row(config) + lane_) * config.sparse_vector; }

  const CsrProductArgs& args_;
  const Operands<F>& operands_;
  const EntrySpan<F>& span_;
  StagedStep<F>& step_;
  unsigned lane_;
  Packet<F> packets_[loads];
};

}  // namespace vostok
