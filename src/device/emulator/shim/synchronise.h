// Barriers, shuffles and votes. Each carries the place it was called from, for messages.
#pragma once

#include "keywords.h"

#define VOSTOK_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(VOSTOK_PLACE) {
  vostok_emulator::runtime->barrier(vostok_emulator::current, vostok_emulator::BarrierKind::plain, 0, {file, line});
}
inline int __syncthreads_or(int predicate, VOSTOK_PLACE) {
  return vostok_emulator::runtime->barrier(vostok_emulator::current, vostok_emulator::BarrierKind::any, predicate,
                                           {file, line});
}
inline int __syncthreads_and(int predicate, VOSTOK_PLACE) {
  return vostok_emulator::runtime->barrier(vostok_emulator::current, vostok_emulator::BarrierKind::all, predicate,
                                           {file, line});
}
inline int __syncthreads_count(int predicate, VOSTOK_PLACE) {
  return vostok_emulator::runtime->barrier(vostok_emulator::current, vostok_emulator::BarrierKind::count, predicate,
                                           {file, line});
}

namespace vostok_emulator {

inline unsigned long long exchange_bits(unsigned mask, unsigned long long value, unsigned source, Place place) {
  unsigned long long result = 0;
  const WarpRequest request = {WarpKind::exchange, mask, place, &value, &result, 1, source};
  runtime->warp(current, &request);
  return result;
}

template <class T>
inline T exchange(unsigned mask, T value, unsigned source, Place place) {
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = exchange_bits(mask, bits, source, place);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

/// Every lane's `words` values in every lane: values[lane][word].
inline void gather(const unsigned long long* in, unsigned long long* out, int words, Place place) {
  const WarpRequest request = {WarpKind::gather, 0xffffffffu, place, in, out, words, 0};
  runtime->warp(current, &request);
}

inline unsigned vote(unsigned mask, bool value, Place place) {
  const unsigned long long in = value;
  unsigned long long result = 0;
  const WarpRequest request = {WarpKind::vote, mask, place, &in, &result, 1, 0};
  runtime->warp(current, &request);
  return static_cast<unsigned>(result);
}

// The source lanes of the shuffles, for segments of `width` lanes (PTX ISA, shfl.sync).
inline unsigned source_index(unsigned lane, int source, int width) {
  return (lane & ~static_cast<unsigned>(width - 1)) |
         (static_cast<unsigned>(source) & static_cast<unsigned>(width - 1));
}
inline unsigned source_up(unsigned lane, unsigned delta, int width) {
  const unsigned within = lane & static_cast<unsigned>(width - 1);
  return delta > within ? lane : lane - delta;
}
inline unsigned source_down(unsigned lane, unsigned delta, int width) {
  const unsigned within = lane & static_cast<unsigned>(width - 1);
  return delta >= static_cast<unsigned>(width) - within ? lane : lane + delta;
}
inline unsigned source_xor(unsigned lane, int bits, int width) {
  const unsigned other = (lane ^ static_cast<unsigned>(bits)) & 31;
  return other > (lane | static_cast<unsigned>(width - 1)) ? lane : other;
}

}  // namespace vostok_emulator

#define VOSTOK_SHUFFLES(type)                                                                             \
  inline type __shfl_sync(unsigned mask, type value, int source, int width = 32, VOSTOK_PLACE) {          \
    using namespace vostok_emulator;                                                                      \
    return exchange(mask, value, source_index(current->lane, source, width), {file, line});               \
  }                                                                                                       \
  inline type __shfl_up_sync(unsigned mask, type value, unsigned delta, int width = 32, VOSTOK_PLACE) {   \
    using namespace vostok_emulator;                                                                      \
    return exchange(mask, value, source_up(current->lane, delta, width), {file, line});                   \
  }                                                                                                       \
  inline type __shfl_down_sync(unsigned mask, type value, unsigned delta, int width = 32, VOSTOK_PLACE) { \
    using namespace vostok_emulator;                                                                      \
    return exchange(mask, value, source_down(current->lane, delta, width), {file, line});                 \
  }                                                                                                       \
  inline type __shfl_xor_sync(unsigned mask, type value, int bits, int width = 32, VOSTOK_PLACE) {        \
    using namespace vostok_emulator;                                                                      \
    return exchange(mask, value, source_xor(current->lane, bits, width), {file, line});                   \
  }
VOSTOK_SHUFFLES(int)
VOSTOK_SHUFFLES(unsigned)
VOSTOK_SHUFFLES(long)
VOSTOK_SHUFFLES(unsigned long)
VOSTOK_SHUFFLES(long long)
VOSTOK_SHUFFLES(unsigned long long)
VOSTOK_SHUFFLES(float)
VOSTOK_SHUFFLES(double)
#undef VOSTOK_SHUFFLES

inline void __syncwarp(unsigned mask = 0xffffffffu, VOSTOK_PLACE) {
  using namespace vostok_emulator;
  const WarpRequest request = {WarpKind::synchronize, mask, {file, line}, nullptr, nullptr, 0, 0};
  runtime->warp(current, &request);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, VOSTOK_PLACE) {
  return vostok_emulator::vote(mask, predicate != 0, {file, line});
}
inline int __any_sync(unsigned mask, int predicate, VOSTOK_PLACE) {
  return vostok_emulator::vote(mask, predicate != 0, {file, line}) != 0;
}
inline int __all_sync(unsigned mask, int predicate, VOSTOK_PLACE) {
  return vostok_emulator::vote(mask, predicate == 0, {file, line}) == 0;
}

/// A GPU may report any subset that holds the caller; here it is the caller alone.
inline unsigned __activemask() { return 1u << vostok_emulator::current->lane; }

#undef VOSTOK_PLACE
