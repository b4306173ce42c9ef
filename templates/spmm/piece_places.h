// Where the pieces of a block lie in the workspace.
#pragma once

#include "abi/nonzero_split.h"

namespace vostok {

/// Of one product of the batch.
class PiecePlaces {
 public:
  __device__ PiecePlaces(const NonzeroSplitArgs& args, unsigned product)
      : pieces_(args.pieces + 2LL * product * args.block_count * args.piece_leading), leading_(args.piece_leading) {}

  /// Of the row that the block ends and an earlier one began.
  __device__ float* head(unsigned block) const { return pieces_ + 2LL * block * leading_; }
  /// Of the row that the block leaves to the next one.
  __device__ float* tail(unsigned block) const { return head(block) + leading_; }

 private:
  float* pieces_;
  long long leading_;
};

}  // namespace vostok
