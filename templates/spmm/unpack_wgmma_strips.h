// The strips of a warp of unpack_wgmma that multiplies, unpacked into registers, or where they lie in shared memory.
#pragma once

#include "abi/either.h"
#include "parts/ordered_loads.h"
#include "parts/wgmma.h"
#include "spmm/unpack_fragments.h"
#include "spmm/unpack_wgmma_shared.h"

namespace vostok {

/// A strip's A-fragments: of each step, the values or their high parts, and the low parts.
template <class F>
struct StripFragments {
  unsigned at[strip_steps(F::config.grain)][terms(F::config)][strip_registers()];
  unsigned metadata;  ///< where A is 2:4 sparse
};

/// The strips of a warpgroup, which tensor cores read themselves.
struct SharedStrips {
  unsigned long long descriptor;
};

template <class F>
using UnpackedStrip = Either<StripFragments<F>, SharedStrips, takes_whole(F::config)>;

/// A warp's strips, one k block of its group after the other. Where they start is looked up one of them ahead.
template <class F>
class PackedPairs {
  static constexpr auto config = F::config;
  static constexpr unsigned room = strip_stage_bytes(config);
  static constexpr bool all_fit = config.strip_pairs == packed_most(config.grain);
  // Found by compiling: with less room, or with the strip before still being multiplied, registers are spilled.
  static constexpr PairReads reads = (takes_fours(config) || !config.overlap) && registers_beside_sums(config) >= 80
                                         ? PairReads::apart
                                         : PairReads::alone;
  using Header = StripHeader<config.grain>;
  using StageReader = StripReader<terms(config), SharedAddress, reads, config.grain>;
  using MemoryReader = StripReader<terms(config), const unsigned char*, PairReads::in_turn, config.grain>;

 public:
  /// `exists`: there is a k block.
  __device__ PackedPairs(const PackedStrips& strips, unsigned first_block, unsigned first_strip, unsigned warp,
                         bool exists)
      : offsets_(strips.offsets + static_cast<long long>(first_block) * strips.row_strips + first_strip),
        data_(strips.data),
        step_(config.k_groups * strips.row_strips),
        warp_(warp) {
    if (exists) look_ahead();
  }

  /// Unpacks the k block looked at, whose stage is full, and looks at the next one where there is one.
  __device__ void unpack(UnpackedStrip<F>& strip, unsigned stage_strips, bool looks_ahead) {
    const unsigned begin = (own_ - first_) * packed_unit_bytes();
    if constexpr (all_fit) {
      if (looks_ahead) look_ahead();
      read<StageReader>(strip, SharedAddress{stage_strips + begin});
    } else {
      const bool fits = (end_ - first_) * packed_unit_bytes() <= room;
      const unsigned char* const memory = data_ + static_cast<long long>(own_) * packed_unit_bytes();
      if (looks_ahead) look_ahead();
      if (fits) read<StageReader>(strip, SharedAddress{stage_strips + begin});
      else read<MemoryReader>(strip, memory);
    }
  }

 private:
  __device__ void look_ahead() {
    first_ = load_ahead(offsets_);
    own_ = load_ahead(offsets_ + warp_);
    if constexpr (!all_fit) end_ = load_ahead(offsets_ + warp_ + 1);
    offsets_ += step_;
  }
  template <class Reader, class From>
  static __device__ void read(UnpackedStrip<F>& strip, From from) {
    const Header header = Header::load(from, threadIdx.x % 32);
    Reader reader(from, header);
    reader.template read<0>(strip.at[0]);
    reader.template read<1>(strip.at[1]);
    if constexpr (takes_fours(config)) {
      strip.metadata = header.metadata;
    } else {
      reader.template read<2>(strip.at[2]);
      reader.template read<3>(strip.at[3]);
    }
  }

  const unsigned* offsets_;  ///< of the tile's first strip in the k block to look at next
  const unsigned char* data_;
  unsigned step_;  ///< between the offsets of one k block and the next of the group
  unsigned warp_;
  unsigned first_ = 0;
  unsigned own_ = 0;
  unsigned end_ = 0;
};

/// The same of whole strips: those of a warpgroup are 64 lines of A.
template <class F>
class WholeStrips {
 public:
  __device__ WholeStrips(const PackedStrips&, unsigned, unsigned, unsigned warp, bool)
      : first_(warp / 4 * whole_warpgroup_bytes(F::config)) {}

  __device__ void unpack(SharedStrips& strips, unsigned stage_strips, bool) const {
    strips.descriptor = dense_descriptor(stage_strips + first_, 0, whole_octet_bytes(F::config));
  }

 private:
  unsigned first_;  ///< of the warpgroup in a stage
};

template <class F>
using WarpStrips = Either<PackedPairs<F>, WholeStrips<F>, takes_whole(F::config)>;

}  // namespace vostok
