// What a warpgroup hands to another through shared memory, a lane to the lane of the same number, one tile at a time
// (abi/fused_backward_pair.h).
#pragma once

#include "abi/fused_backward_pair.h"
#include "parts/mbarrier.h"
#include "parts/shared_address.h"

namespace vostok {

template <class F>
class Handover {
  static constexpr int octets = tile_keys() / 8;
  static constexpr int octet_bytes = 16 * 128, tile_bytes = octets * octet_bytes;

 public:
  /// `full` and `empty`: barriers of all lanes of a warpgroup.
  __device__ Handover(unsigned words, unsigned full, unsigned empty)
      : words_{words + 16 * (threadIdx.x % 128)}, full_(full), empty_(empty) {}

  // The giver's: between begin and end it puts.
  __device__ void begin() const { wait_barrier(empty_, parity_ ^ 1); }
  __device__ void end() {
    arrive(full_);
    parity_ ^= 1;
  }
  /// A tile's; `number`: which of those that are handed over together.
  __device__ void put(const float (&tile)[octets][4], int number) const {
#pragma unroll
    for (int o = 0; o < octets; ++o) put_octet(tile[o], words_ + (number * tile_bytes + o * octet_bytes));
  }
  __device__ void put_pair(const float (&pair)[2]) const {
    const float both[4] = {pair[0], pair[1], 0.0F, 0.0F};
    put_octet(both, words_ + tile_bytes);
  }
  /// In place of a tile, behind the last.
  __device__ void give(const float (&words)[4]) {
    begin();
    put_octet(words, words_);
    end();
  }

  // The taker's: between wait and release it takes.
  __device__ void wait() const { wait_barrier(full_, parity_); }
  __device__ void release() {
    arrive(empty_);
    parity_ ^= 1;
  }
  __device__ void take(float (&values)[4], int octet, int number) const {
    take_octet(values, words_ + (number * tile_bytes + octet * octet_bytes));
  }
  __device__ void take_pair(float (&pair)[2]) const {
    float both[4];
    take_octet(both, words_ + tile_bytes);
    pair[0] = both[0];
    pair[1] = both[1];
  }
  __device__ void receive(float (&words)[4]) {
    wait();
    take_octet(words, words_);
    release();
  }

 private:
  static __device__ void put_octet(const float (&values)[4], SharedAddress to) {
    unsigned words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) words[i] = __builtin_bit_cast(unsigned, values[i]);
    store_words(to, words);
  }
  static __device__ void take_octet(float (&values)[4], SharedAddress from) {
    unsigned words[4];
    load_words(words, from);
#pragma unroll
    for (int i = 0; i < 4; ++i) values[i] = __builtin_bit_cast(float, words[i]);
  }

  const SharedAddress words_;
  const unsigned full_;
  const unsigned empty_;
  unsigned parity_ = 0;
};

}  // namespace vostok
