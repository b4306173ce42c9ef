// A ring of stages in shared memory, through which a producer and its consumers go.
#pragma once

namespace vostok {

/// Counts round the stages.
template <int stages>
struct StageIndex {
  unsigned at = 0;
  __device__ void step() { at = at + 1 == stages ? 0 : at + 1; }
};

/// A place in the ring, and the parity of its round.
template <int stages>
struct RingPlace {
  unsigned stage = 0;
  unsigned parity = 0;

  /// Goes on by so many stages: no more than the ring has.
  __device__ void advance(unsigned step = 1) {
    stage += step;
    if (stage >= stages) {
      stage -= stages;
      parity ^= 1;
    }
  }
};

}  // namespace vostok
