// A run of packed nonzeros (abi/packed_runs.h) in a lane's registers, and its product with B.
//
// The column of every slot is a sum of codes. Four codes lie in the bytes of a word, and one instruction multiplies
// them with a constant that selects the first few and scales them to bytes of shared memory, and adds where the word
// begins: the address of a slot's row of B takes one instruction a slot.
#pragma once

#include "parts/dot_bytes.h"
#include "spmm/sparse_vector_dense.h"

namespace vostok {

template <class F>
class RunProduct {
  static constexpr auto traits = F::traits;
  static constexpr auto config = F::config;
  static constexpr int columns = config.columns;
  static constexpr int element_bytes = size_of(traits.element);
  static constexpr int code_words = run_slots() * config.gap_bits / 32;
  static constexpr int word_slots = 32 / config.gap_bits;
  static constexpr int value_words = run_slots() * element_bytes / 4;
  static constexpr unsigned slot_size = slot_bytes(traits, config);
  using Piece = Vector<unsigned, 4>;
  using Value = Element<traits.element>;

 public:
  /// Loads a run that exists.
  __device__ void load(const PackedRuns& runs, const unsigned char* values, unsigned run) {
    const long long group = run / group_runs();
    const unsigned lane = run % group_runs();
    load_pieces(reinterpret_cast<const Piece*>(runs.codes), group, lane, codes_);
    load_pieces(reinterpret_cast<const Piece*>(values), group, lane, values_);
    start_ = load_global(runs.starts + run);
  }

  /// Adds the product of a loaded run.
  __device__ void add_to(float (&totals)[columns]) const {
    float sums[columns] = {};
    unsigned at = start_ * slot_size;
#pragma unroll
    for (int w = 0; w < code_words; ++w) {
      if constexpr (config.gap_bits == 8) {
        add_four(codes_[w], w * word_slots, at, sums);
      } else {
        constexpr unsigned low_halves = 0x0f0f0f0fU;
        add_four(codes_[w] & low_halves, w * word_slots, at, sums);
        add_four(codes_[w] >> 4 & low_halves, w * word_slots + 4, at, sums);
      }
    }
#pragma unroll
    for (int j = 0; j < columns; ++j) totals[j] += sums[j];
  }

 private:
  template <int words>
  static __device__ void load_pieces(const Piece* memory, long long group, unsigned lane, unsigned (&into)[words]) {
#pragma unroll
    for (int p = 0; p < words / 4; ++p) {
      const Piece piece = load_global(memory + (group * (words / 4) + p) * group_runs() + lane);
#pragma unroll
      for (int i = 0; i < 4; ++i) into[4 * p + i] = piece.at[i];
    }
  }

  /// Adds slots `first` to `first` + 3, whose codes are the bytes of a word; `at` moves on to the last.
  __device__ void add_four(unsigned codes, int first, unsigned& at, float (&sums)[columns]) const {
    const unsigned from = at;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      constexpr unsigned every_byte = 0x01010101U;
      at = dot_bytes(codes, slot_size * (every_byte >> (24 - 8 * i)), from);
      float row[columns];
      StagedDense<F>::read(at, row);
      const float value = this->value(first + i);
#pragma unroll
      for (int j = 0; j < columns; ++j) sums[j] = fmaf(value, row[j], sums[j]);
    }
  }

  __device__ float value(int slot) const {
    if constexpr (element_bytes == 4) return __builtin_bit_cast(float, values_[slot]);
    else return Value::to_float(static_cast<unsigned short>(values_[slot / 2] >> 16 * (slot % 2)));
  }

  unsigned codes_[code_words];
  unsigned values_[value_words];
  unsigned start_;
};

/// Adds the product of a run's nonzeros alone, slot after slot: slow, and rare.
template <class F>
__device__ inline void add_nonzeros(const PackedRuns& runs, const unsigned char* values, unsigned run,
                                    float (&totals)[F::config.columns]) {
  using Value = Element<F::traits.element>;
  constexpr int gap_bits = F::config.gap_bits;
  constexpr int bytes = size_of(F::traits.element);
  constexpr int piece_slots = run_piece_bytes() / bytes;
  float sums[F::config.columns] = {};
  unsigned column = load_global(runs.starts + run);
  const int count = *(runs.counts + run);
#pragma unroll 1
  for (int slot = 0; slot < count; ++slot) {
    const RunCodePlace place = run_code_place(run, slot, gap_bits);
    const unsigned code =
        load_global(runs.codes + place.word) >> place.shift & static_cast<unsigned>(run_escape(gap_bits));
    column += code;
    if (code == static_cast<unsigned>(run_escape(gap_bits))) continue;
    float row[F::config.columns];
    StagedDense<F>::read(column * slot_bytes(F::traits, F::config), row);
    const auto* const stored =
        reinterpret_cast<const typename Value::Storage*>(values) + run_piece_place(run, slot / piece_slots, bytes);
    const float value = Value::to_float(load_global(stored + slot % piece_slots));
#pragma unroll
    for (int j = 0; j < F::config.columns; ++j) sums[j] = fmaf(value, row[j], sums[j]);
  }
#pragma unroll
  for (int j = 0; j < F::config.columns; ++j) totals[j] += sums[j];
}

}  // namespace vostok
