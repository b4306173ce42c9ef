// A row's products on their way to C: what the epilogue adds is loaded, and the result stored, where and as C lies.
#pragma once

#include "parts/epilogue.h"
#include "spmm/row_entries.h"
#include "spmm/row_sum.h"

namespace vostok {

/// dense_vector neighbouring elements of a row of C, or of the residual, which lies as C does.
template <class F>
class OutputPiece {
  static constexpr bool row_major = F::traits.output_layout == Layout::row_major;
  static constexpr int width = F::config.dense_vector;
  using Output = Element<F::traits.output>;
  using Stored = typename Output::Storage;
  using Whole = Vector<Stored, width>;

 public:
  __device__ OutputPiece(const CsrProductArgs& args, unsigned row, long long column)
      : first_(row_major ? row * args.output_leading + column : column * args.output_leading + row),
        column_step_(args.output_leading) {}

  /// Adds what the matrix holds; `own`: the matrix is C itself.
  template <bool own>
  __device__ void add_to(float (&sums)[width], const Stored* matrix) const {
    const auto load = [](const auto* memory) {
      if constexpr (own) return load_own(memory);
      else return load_global(memory);
    };
    if constexpr (row_major) {
      const Whole whole = load(reinterpret_cast<const Whole*>(matrix + first_));
#pragma unroll
      for (int j = 0; j < width; ++j) sums[j] += Output::to_float(whole.at[j]);
    } else {
#pragma unroll
      for (int j = 0; j < width; ++j) sums[j] += Output::to_float(load(matrix + first_ + j * column_step_));
    }
  }

  __device__ void store(Stored* matrix, const float (&values)[width]) const {
    constexpr bool stream = F::config.stream_output;
    const Whole whole = stored_vector<F::traits.output>(values);
    if constexpr (row_major) {
      store_global<stream>(reinterpret_cast<Whole*>(matrix + first_), whole);
    } else {
#pragma unroll
      for (int j = 0; j < width; ++j) store_global<stream>(matrix + first_ + j * column_step_, whole.at[j]);
    }
  }

 private:
  long long first_;
  long long column_step_;
};

/// Stores what becomes of a row's products; sum.total(chunk, j) are those of the lane's columns. Every lane of the
/// row's subwarps calls it.
template <class F, class Sum>
__device__ inline void store_row(const Sum& sum, const CsrProductArgs& args, const Operands<F>& operands,
                                 const LaneColumns<F>& columns, unsigned row, bool stores) {
  constexpr auto traits = F::traits;
  constexpr int width = F::config.dense_vector;
  const ScaleAndBias<traits.bias, traits.scale, traits.bias_element> scale_and_bias{
      args.bias, scale_factor<traits.scale>(args.scale, args.device_scale)};
  const float row_bias = stores ? scale_and_bias.row_bias(row) : 0.0F;
#pragma unroll
  for (int c = 0; c < LaneColumns<F>::chunks; ++c) {
    float values[width];
#pragma unroll
    for (int j = 0; j < width; ++j) values[j] = sum.total(c, j);
    if (!stores || !columns.exists(c)) continue;
    const long long column = columns.column(c);
    const OutputPiece<F> piece(args, row, column);
#pragma unroll
    for (int j = 0; j < width; ++j) values[j] = scale_and_bias(values[j], row_bias, column + j);
    if constexpr (traits.residual) piece.template add_to<false>(values, operands.residual);
    if constexpr (traits.accumulate) piece.template add_to<true>(values, operands.output);
#pragma unroll
    for (int j = 0; j < width; ++j) values[j] = activated<traits.activation>(values[j]);
    piece.store(operands.output, values);
  }
}

}  // namespace vostok
