// The A-fragments of a warp, unpacked from a strip of packed values (abi/packed_strips.h, abi/packed_fours.h): 16 rows
// x 64 k, stored lane by lane, so that a lane finds its pairs of elements one behind the other.
//
// A pair costs a test of the lane's mask, a load where the bit is set, and the step to the next one: no count of bits,
// no exchange between lanes. Registers are those of mma.m16n8k16 and equally of one warp's slice of wgmma.m64nNk16, or
// of the same with a 2:4 sparse A and twice the k.
#pragma once

#include "abi/packed_strips.h"
#include "parts/loads.h"
#include "parts/shared_address.h"

namespace vostok {

/// Steps of a strip: k16 of a dense operand, k32 of a 2:4 sparse one.
constexpr int strip_steps(PackedGrain grain) { return packed_strip_columns() / (grain == PackedGrain::four ? 32 : 16); }
consteval int strip_registers() { return 4; }  ///< A-fragment registers of a step

/// How pairs in shared memory reach their registers, which are zero where there is none.
enum class PairReads : unsigned char {
  in_turn,  ///< with those of other strips: they hide that the step to the next pair waits until a load has read its
            ///< address
  alone,    ///< of one strip: the step goes to a register of its own, and does not wait
  apart,    ///< as alone; two words are loaded elsewhere, then chosen: fewer instructions, but more registers until the
            ///< load is done
};

#if !defined(VOSTOK_EMULATOR)
#define VOSTOK_READ_PAIR(load, mask, bit)                                             \
  "{ .reg .pred there; .reg .b32 present, high, low; and.b32 present, " mask ", " bit \
  "; setp.ne.u32 there, present, 0; " load " }"
// To the next pair: its size where there is one, or the mask's bit shifted to be that.
#define VOSTOK_ADDED(from, size) " @there add.u32 " from ", " from ", " size ";"
#define VOSTOK_SHIFTED(from, up, down) \
  " shl.b32 present, present, " up "; shr.b32 present, present, " down "; add.u32 " from ", " from ", present;"
#endif

/// Pairs in shared memory. `words` of a pair: 1, or 2 where it has a high and a low part.
template <int bit, PairReads reads, int words>
__device__ inline void read_pair(unsigned (&pair)[words], unsigned mask, SharedAddress& from) {
  static_assert(words == 1 || words == 2, "a pair has one word, or a high and a low one");
#if defined(VOSTOK_EMULATOR)
  const bool present = (mask >> bit & 1U) != 0;
  for (int i = 0; i < words; ++i) pair[i] = present ? load_word(from + 4U * i) : 0;
  if (present) from = from + 4U * words;
#else
  constexpr int size_bit = words == 1 ? 2 : 3;
  constexpr int up = bit < size_bit ? size_bit - bit : 0;
  constexpr int down = bit > size_bit ? bit - size_bit : 0;
#define VOSTOK_ONE "mov.b32 %0, 0; @there ld.shared.b32 %0, [%1];"
#define VOSTOK_TWO "mov.b32 %0, 0; mov.b32 %1, 0; @there ld.shared.v2.b32 {%0, %1}, [%2];"
#define VOSTOK_TWO_APART \
  "@there ld.shared.v2.b32 {high, low}, [%2]; selp.b32 %0, high, 0, there; selp.b32 %1, low, 0, there;"
  if constexpr (words == 1 && reads == PairReads::in_turn)
    asm volatile(VOSTOK_READ_PAIR(VOSTOK_ONE VOSTOK_ADDED("%1", "4"), "%2", "%3")
                 : "=&r"(pair[0]), "+r"(from.at)
                 : "r"(mask), "n"(1U << bit));
  else if constexpr (words == 1)
    asm volatile(VOSTOK_READ_PAIR(VOSTOK_ONE VOSTOK_SHIFTED("%1", "%4", "%5"), "%2", "%3")
                 : "=&r"(pair[0]), "+r"(from.at)
                 : "r"(mask), "n"(1U << bit), "n"(up), "n"(down));
  else if constexpr (reads == PairReads::in_turn)
    asm volatile(VOSTOK_READ_PAIR(VOSTOK_TWO VOSTOK_ADDED("%2", "8"), "%3", "%4")
                 : "=&r"(pair[0]), "=&r"(pair[1]), "+r"(from.at)
                 : "r"(mask), "n"(1U << bit));
  else if constexpr (reads == PairReads::alone)
    asm volatile(VOSTOK_READ_PAIR(VOSTOK_TWO VOSTOK_SHIFTED("%2", "%5", "%6"), "%3", "%4")
                 : "=&r"(pair[0]), "=&r"(pair[1]), "+r"(from.at)
                 : "r"(mask), "n"(1U << bit), "n"(up), "n"(down));
  else
    asm volatile(VOSTOK_READ_PAIR(VOSTOK_TWO_APART VOSTOK_SHIFTED("%2", "%5", "%6"), "%3", "%4")
                 : "=&r"(pair[0]), "=&r"(pair[1]), "+r"(from.at)
                 : "r"(mask), "n"(1U << bit), "n"(up), "n"(down));
#undef VOSTOK_TWO_APART
#undef VOSTOK_TWO
#undef VOSTOK_ONE
#endif
}

#undef VOSTOK_SHIFTED
#undef VOSTOK_ADDED
#undef VOSTOK_READ_PAIR

/// Pairs in global memory, which the launch before may have written: plain loads.
template <int bit, PairReads, int words>
__device__ inline void read_pair(unsigned (&pair)[words], unsigned mask, const unsigned char*& from) {
  const bool present = (mask >> bit & 1U) != 0;
#pragma unroll
  for (int i = 0; i < words; ++i) pair[i] = present ? load_own(reinterpret_cast<const unsigned*>(from) + i) : 0;
  if (present) from += 4 * words;
}

__device__ inline unsigned load_word(const unsigned char* from) {
  return load_own(reinterpret_cast<const unsigned*>(from));
}

/// A lane's words at a strip's begin.
template <PackedGrain grain>
struct StripHeader {
  unsigned word = 0;
  unsigned metadata = 0;  ///< of both steps, where the grain has it

  template <class From>
  static __device__ StripHeader load(From strip, unsigned lane) {
    constexpr int lane_bytes = 4 * packed_lane_words(grain);
    StripHeader header;
    header.word = load_word(strip + lane_bytes * lane);
    if constexpr (grain == PackedGrain::four) header.metadata = load_word(strip + (lane_bytes * lane + 4));
    return header;
  }
};

/// One lane's way through a strip. `From` is a SharedAddress, or a pointer to global memory; the strip is 16-byte
/// aligned.
template <int words, class From, PairReads reads = PairReads::in_turn, PackedGrain grain = PackedGrain::pair>
class StripReader {
 public:
  StripReader() = default;
  __device__ StripReader(From strip, StripHeader<grain> header)
      : header_(header.word), next_(strip + (packed_header_bytes(grain) + packed_start(header.word) * (4 * words))) {}
  __device__ StripReader(From strip, unsigned lane) : StripReader(strip, StripHeader<grain>::load(strip, lane)) {}

  /// The registers of the next step, where steps are counted while the kernel runs. Of a strip, all steps are taken
  /// with next() or all with read().
  __device__ void next(unsigned (&fragments)[words][strip_registers()]) {
    read<0>(fragments);
    header_ >>= strip_registers();
  }

  /// The registers of step `step`: register r of part i (0: the values or their high parts, 1: the low parts) is
  /// fragments[i][r]. Every step once, in ascending order.
  template <int step>
  __device__ void read(unsigned (&fragments)[words][strip_registers()]) {
    read_register<step, 0>(fragments);
    read_register<step, 1>(fragments);
    read_register<step, 2>(fragments);
    read_register<step, 3>(fragments);
  }

 private:
  template <int step, int index>
  __device__ void read_register(unsigned (&fragments)[words][strip_registers()]) {
    unsigned pair[words];
    read_pair<step * strip_registers() + index, reads>(pair, header_, next_);
#pragma unroll
    for (int i = 0; i < words; ++i) fragments[i][index] = pair[i];
  }

  unsigned header_;  ///< its low half is the mask, of the steps to come
  From next_;
};

}  // namespace vostok
