// Tensor maps: how the copy engine (sm_90) finds boxes of the matrices of a batch in global memory. A map is opaque:
// the driver makes it from what the host wants it to say, call by call, and a kernel takes it as part of its parameter.
//
// A box of lines of 128 bytes comes to shared memory with 16-byte chunk c of line l at place c ^ (l % 8): the 128-byte
// swizzle of wgmma, as split_dense leaves it (abi/split_dense.h). Shorter lines follow one another as they are. What a
// box has past the matrix is zeros.
#pragma once

#include "abi/either.h"
#include "abi/enums.h"

namespace vostok {

/// What a map is to say: matrices, which lines they have, and the boxes they are copied in.
struct TensorBoxes {
  const void* address;        ///< of the first matrix, a multiple of 16
  long long sizes[3];         ///< elements of a line, lines of a matrix, matrices
  long long stride_bytes[2];  ///< between two lines, and two matrices: multiples of 16 below 2^40
  int box[2];                 ///< elements, of 128 bytes at most, and lines, 256 at most, of one matrix
  Dtype element;
};

union alignas(64) TensorMap {
  TensorBoxes boxes;         ///< until it is made: the host's wish
  unsigned char bytes[128];  ///< then: what the copy engine reads
};

/// A kernel's arguments with the map of B behind them.
template <class Args>
struct MappedArgs : Args {
  TensorMap dense_map;
};

/// The arguments of a kernel that copies B by a map, or that does not: those are not made longer.
template <class Args, bool mapped>
using ArgsMaybeMapped = Either<Args, MappedArgs<Args>, mapped>;

/// A kernel's arguments with the maps of A and B behind them.
template <class Args>
struct PairMappedArgs : Args {
  TensorMap lhs_map;
  TensorMap rhs_map;
};

}  // namespace vostok
