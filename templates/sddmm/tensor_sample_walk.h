// What a block of tensor_sample works at: a part of n of one matrix of the batch, and some tiles of the list.
#pragma once

#include "abi/tensor_sample.h"
#include "parts/loads.h"

namespace vostok {

/// Matrices of the batch and their parts lie on the grid's y, and on z past what y holds.
struct SamplePart : BlocksOfN {
  unsigned line;  ///< of the output: the parts of a matrix are neighbours
  unsigned matrix;
  unsigned steps;  ///< of 16 n, up to the end of n

  template <class F>
  static __device__ SamplePart of_block(const TensorSampleArgs& args) {
    const unsigned line = blockIdx.z * gridDim.y + blockIdx.y;
    if constexpr (F::traits.one_block) return {{0, 1}, line, line, args.n_steps};
    if constexpr (F::config.n_split == 1) return {{0, n_blocks(args)}, line, line, args.n_steps};
    const BlocksOfN blocks = BlocksOfN::of(line % F::config.n_split, args.part_blocks, n_blocks(args));
    return {blocks, line, line / F::config.n_split, args.n_steps - blocks.first_block * steps_of_block()};
  }

  static __device__ unsigned n_blocks(const TensorSampleArgs& args) {
    return (args.n_steps + steps_of_block() - 1) / steps_of_block();
  }

  /// How many n the part has.
  template <class F>
  __device__ long long length(const TensorSampleArgs& args) const {
    return F::config.n_split == 1 ? args.n : length_of(args.n);
  }

  /// The octets from that of this row on, in the part's first n block.
  template <class F>
  __device__ const unsigned char* octets(const TensorSampleArgs& args, const SampledOperand& operand,
                                         unsigned row) const {
    const long long block = static_cast<long long>(matrix) * n_blocks(args) + first_block;
    return operand.octets +
           (block * operand.octet_count + row / sample_octet_rows()) * sample_octet_bytes(F::config.mode);
  }
  __device__ const signed char* exponents(const SampledOperand& operand, unsigned row) const {
    return operand.exponents + number(operand, row);
  }
  __device__ const unsigned char* marks(const SampledOperand& operand, unsigned row) const {
    return operand.marks + number(operand, row);
  }

 private:
  /// Of a row among those of all parts.
  __device__ long long number(const SampledOperand& operand, unsigned row) const {
    return static_cast<long long>(line) * operand.octet_count * sample_octet_rows() + row;
  }
};

/// Walks over the block's tiles. The next one is loaded while there is still one to work at.
template <class F>
class TileWalk {
  static constexpr unsigned most = F::config.tiles_per_block;

 public:
  explicit __device__ TileWalk(const TileLists& lists) : now_(load(lists)) {
    if constexpr (most > 1) {
      ++number_;
      next_ = load(lists);
      --number_;
    }
  }

  /// Behind the last tile that holds nonzeros there are only others.
  __device__ bool exists() const { return now_.entries > 0; }
  __device__ const SampleTile& tile() const { return now_; }
  __device__ unsigned number() const { return number_; }                     ///< among the block's
  __device__ unsigned index() const { return blockIdx.x * most + number_; }  ///< in the list

  __device__ void step(const TileLists& lists) {
    number_ += 2;
    now_ = next_;
    if constexpr (most > 1) next_ = load(lists);
    --number_;
  }

 private:
  __device__ SampleTile load(const TileLists& lists) const {
    return number_ < most && index() < lists.tile_count ? load_global(lists.tiles + index()) : SampleTile{};
  }

  unsigned number_ = 0;
  SampleTile now_;
  SampleTile next_ = {};
};

}  // namespace vostok
