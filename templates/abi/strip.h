// A strip of a sparse matrix's nonzeros: what the topology's table holds and kernels read.
#pragma once

namespace vostok {

/// A run of at most a config's `strip_entries` nonzeros of one row; rows are cut from their start.
struct alignas(16) Strip {
  int row = 0;
  int begin = 0;  ///< first nonzero, in CSR order
  int end = 0;    ///< past the last; equal to begin in the empty strips that may pad the table
  int first = 0;  ///< number of the row's first strip
};

}  // namespace vostok
