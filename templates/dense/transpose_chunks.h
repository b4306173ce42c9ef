// A whole tile of dense_transpose of 64 x 64 elements of 2 bytes, 16 bytes at a time on both sides.
//
// A lane reads eight columns of two neighbouring rows, its neighbour the next eight: whole sectors. Words of two rows
// become lines of shared memory that are columns, 16-byte chunk c of line i at place c ^ (i % 8); the second of two
// neighbouring lanes writes the upper half of its columns first, so that a warp's words are in different banks.
#pragma once

#include "abi/dense_transpose.h"
#include "parts/loads.h"
#include "parts/vector.h"

namespace vostok {

template <class F>
class TransposeChunks {
  static constexpr int tile = F::config.tile;
  static constexpr int chunk = 8;  ///< elements
  using Stored = unsigned short;
  using Chunk = Vector<Stored, chunk>;
  static_assert(tile == 64 && F::config.threads == 256, "each thread has two chunks of 64 x 64 elements");

 public:
  /// Reads the thread's chunks of a tile that begins at `source`.
  __device__ TransposeChunks(const Stored* source, long long leading) {
    const Stored* const from = source + row() * leading + first_column();
    rows_[0] = load_global(reinterpret_cast<const Chunk*>(from));
    rows_[1] = load_global(reinterpret_cast<const Chunk*>(from + leading));
  }

  /// Into shared memory.
  __device__ void lay(unsigned char* shared) const {
    const bool second = threadIdx.x % 2 != 0;
#pragma unroll
    for (int i = 0; i < chunk; ++i) {
      const int other = i ^ chunk / 2;
      const auto word = [&](int j) { return rows_[0].at[j] | static_cast<unsigned>(rows_[1].at[j]) << 16; };
      const int line = first_column() + (second ? other : i);
      *reinterpret_cast<unsigned*>(shared + place(line, row() / chunk) + row() % chunk * 2) =
          second ? word(other) : word(i);
    }
  }

  /// From there to `destination`, where the transposed tile begins.
  static __device__ void store(const unsigned char* shared, Stored* destination, long long leading) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int number = static_cast<int>(threadIdx.x) + i * F::config.threads;
      const int line = number / (tile / chunk), first = number % (tile / chunk) * chunk;
      const Chunk own = *reinterpret_cast<const Chunk*>(shared + place(line, first / chunk));
      store_global<false>(reinterpret_cast<Chunk*>(destination + line * leading + first), own);
    }
  }

 private:
  // 16 pairs of rows and two chunks are a warp's; warps have two halves of the rows and four pairs of chunks.
  static __device__ int row() {
    const int thread = static_cast<int>(threadIdx.x);
    return thread / 32 % 2 * 32 + thread % 32 / 2 * 2;
  }
  static __device__ int first_column() {
    const int thread = static_cast<int>(threadIdx.x);
    return (thread / 64 * 2 + thread % 2) * chunk;
  }
  static __device__ int place(int line, int of_chunk) { return line * tile * 2 + (of_chunk ^ line % 8) * 16; }

  Chunk rows_[2];
};

}  // namespace vostok
