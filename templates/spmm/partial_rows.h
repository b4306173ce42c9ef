// Where the sums of a slice of k lie in the workspace.
#pragma once

#include "abi/staged_rows.h"
#include "spmm/pieces.h"

namespace vostok {

/// Those of one product of the batch and one slice.
class PartialRows {
 public:
  __device__ PartialRows(const StagedRowsArgs& args, unsigned product, unsigned slice)
      : first_(args.partial +
               (static_cast<long long>(product) * args.slices + slice) * args.product.m * args.partial_leading),
        leading_(args.partial_leading) {}

  __device__ float* row(unsigned row) const { return first_ + row * leading_; }

 private:
  float* first_;
  long long leading_;
};

}  // namespace vostok
