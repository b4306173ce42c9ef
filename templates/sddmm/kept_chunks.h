// f32 rows of an octet in shared memory, between the two times that a block reads them: all is asked for at once, and
// once only.
#pragma once

#include "abi/sample_operands.h"
#include "parts/async_copy.h"
#include "parts/shared.h"
#include "parts/vector.h"

namespace vostok {

/// Rows' chunks from place to place, `threads` of them at each. Lanes copy what lies side by side: neighbours of a row,
/// or of a column. A chunk's own thread reads it.
template <Layout layout, unsigned threads, int alignment>
class KeptChunks {
  static constexpr bool row_major = layout == Layout::row_major;
  static constexpr unsigned row_threads = threads / sample_octet_rows();
  static constexpr int chunk = sample_chunk();
  static constexpr int width = !row_major ? 1 : (alignment < 16 ? alignment : 16) / static_cast<int>(sizeof(float));
  using Chunk = Vector<float, chunk>;
  using Quad = Vector<float, 4>;

 public:
  /// Of row `row` of the octet, of which this thread has chunk `own` at each place. `memory` is aligned to 16 bytes.
  __device__ KeptChunks(float* memory, unsigned row, unsigned own)
      : memory_(memory + (row_major ? row * row_threads * chunk : threadIdx.x)), own_(own) {}

  /// Asks for what lies at `place`, zeros where the row's `n` elements end. The row begins at `from`, its elements are
  /// `step` apart.
  __device__ void ask(unsigned place, const float* from, long long step, long long n) const {
    const long long first = static_cast<long long>(place + 1) * row_threads * chunk;
#pragma unroll
    for (int i = 0; i < chunk; i += width) {
      const unsigned element = row_major ? (i * row_threads + own_ * width) : own_ * chunk + i;
      const long long left = n - first - element;
      copy_async<width * sizeof(float)>(at(place, row_major ? element : i), from + (first + element) * step,
                                        left <= 0       ? 0
                                        : left >= width ? static_cast<int>(width * sizeof(float))
                                                        : static_cast<int>(left * sizeof(float)));
    }
  }

  /// Every thread of the warp comes here before it reads.
  static __device__ void wait() {
    commit_async();
    wait_async<0>();
    if constexpr (row_major) __syncwarp();
  }

  __device__ Chunk read(unsigned place) const {
    Chunk values;
    if constexpr (row_major) {
#pragma unroll
      for (int i = 0; i < chunk; i += 4) {
        const Quad quad = *reinterpret_cast<const Quad*>(at(place, own_ * chunk + i));
#pragma unroll
        for (int j = 0; j < 4; ++j) values.at[i + j] = quad.at[j];
      }
    } else {
#pragma unroll
      for (int i = 0; i < chunk; ++i) values.at[i] = *at(place, i);
    }
    return values;
  }

 private:
  /// Of the row's elements at a place; of the thread's own where columns are lines. Every other 128 bytes have their
  /// quads in pairs the other way round: eight lanes that read theirs touch each bank once.
  __device__ float* at(unsigned place, unsigned element) const {
    return memory_ + place * threads * chunk + (row_major ? element ^ (element / 8 & 4) : element * threads);
  }

  float* memory_;
  unsigned own_;
};

}  // namespace vostok
