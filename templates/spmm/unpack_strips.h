// Strips of packed values on their way to shared memory: those of a tile's rows in one k block follow one another, one
// copy.
#pragma once

#include "abi/unpack_mma.h"
#include "parts/async_copy.h"
#if !defined(VOSTOK_EMULATOR)
#include "parts/bulk_copy.h"
#include "parts/mbarrier.h"
#endif
#include "parts/dependent_launch.h"
#include "parts/loads.h"
#include "parts/opaque.h"
#include "spmm/unpack_shared.h"
#include "spmm/unpack_team.h"
#include "spmm/unpack_tile.h"

namespace vostok {

/// Copies the team's k blocks, one after the other. Where their strips start is copied too, as many k blocks ahead as
/// there are on their way: it has landed when its k block's turn comes, and no register holds it until then. (Held in
/// registers it was waited for at the end of every k block, 15 % of the time at 8 columns; where registers were short
/// they were spilled, which waits at once.)
template <class F>
class StripStages {
  using Team = UnpackTeam<F>;
  static constexpr unsigned strips = tile_strips(F::config);
  static constexpr unsigned capacity = strip_stage_units(F::config);
  static constexpr int ahead = F::config.stages - 1;
  static constexpr int places = strip_places(F::config);
  static constexpr bool in_bulk = copies_in_bulk(F::config);

 public:
  /// Copies the first k blocks, a group of copies for each of the stages but one; then waits for the launch before, of
  /// which strips do not depend.
  template <class Args>
  __device__ StripStages(const Args& args, const UnpackTile<F>& tile, const PackedStrips& packed,
                         const UnpackShared<F>& shared)
      : offsets_(packed.offsets),
        data_(packed.data),
        next_(Team::first_block(tile, args) * packed.row_strips + tile.first_strip() + Team::thread()),
        block_step_(packed.row_strips * Team::count),
        places_(shared.places()),
        left_(Team::block_count(tile, args)) {
    if constexpr (in_bulk) initialise_barriers(shared);
#pragma unroll 1
    for (int i = 0; i < ahead; ++i) ask();
    commit_async();
    wait_async<0>();
    Team::wait();
    copy_first(shared, Team::block_count(tile, args));
    follow_previous_launch();
  }

  /// Copies the next k block, which exists, to this stage. One that does not fit is left where it is: only its starts
  /// are stored.
  __device__ void issue(const UnpackShared<F>& shared, unsigned stage) {
    const SharedAddress place = place_of(taken_);
    taken_.step();
    ask();
    copy(place, shared, stage);
  }

  static __device__ bool fits(SharedAddress starts) { return load_word(starts + 4 * strips) <= capacity; }

 private:
  __device__ void copy_first(const UnpackShared<F>& shared, int count) {
    StageIndex<F::config.stages> stage;
#pragma unroll 1
    for (int i = 0; i < ahead; ++i) {
      if (i < count) issue(shared, stage.at);
      commit_async();
      stage.step();
    }
  }

  /// Where the strips of a k block start, in units, and where the last one ends: words.
  __device__ SharedAddress place_of(StageIndex<places> index) const {
    return places_ + index.at * (4 * strip_start_words(F::config));
  }

  /// Copies the place of the next k block, where there is one, with the group of copies that is made.
  __device__ void ask() {
    if (left_ > 0) {
      --left_;
      if (Team::thread() <= strips) copy_async<4>(place_of(asked_) + 4 * Team::thread(), offsets_ + next_);
      next_ += block_step_;
    }
    asked_.step();
  }

  __device__ void copy(SharedAddress place, const UnpackShared<F>& shared, unsigned stage) const {
    const unsigned thread = Team::thread();
    const unsigned begin = load_word(place);
    const unsigned units = load_word(place + 4 * strips) - begin;
    if (thread <= strips) store_word(shared.starts(stage) + 4 * thread, load_word(place + 4 * thread) - begin);
    if constexpr (in_bulk) {
      if (thread == 0) copy_at_once(begin, units <= capacity ? units : 0, shared, stage);
    } else {
      if (units <= capacity) copy_together(begin, units, shared.strips(stage));
    }
  }

  /// Units of 16 bytes by the team's threads.
  __device__ void copy_together(unsigned begin, unsigned units, SharedAddress stage) const {
    const unsigned thread = Team::thread();
    constexpr int size = Team::size;
    constexpr int rounds = (capacity + size - 1) / size;
    const unsigned char* from = data_ + static_cast<unsigned long long>(begin + thread) * packed_unit_bytes();
    make_opaque(from);
    const SharedAddress to = stage + thread * packed_unit_bytes();
    const int left = static_cast<int>(units) - static_cast<int>(thread);
#pragma unroll
    for (int i = 0; i < rounds; ++i)
      if (i * size < left)
        copy_async<packed_unit_bytes()>(to + i * size * packed_unit_bytes(), from + i * size * packed_unit_bytes());
  }

#if defined(VOSTOK_EMULATOR)
  // It has no copy engine: the thread that would ask for the copy makes it, with the group of copies that all wait for.
  __device__ static void initialise_barriers(const UnpackShared<F>&) {}
  __device__ void copy_at_once(unsigned begin, unsigned units, const UnpackShared<F>& shared, unsigned stage) const {
    const unsigned char* const from = data_ + static_cast<unsigned long long>(begin) * packed_unit_bytes();
    for (unsigned i = 0; i < units * packed_unit_bytes(); i += packed_unit_bytes())
      copy_async<packed_unit_bytes()>(shared.strips(stage) + i, from + i);
  }
#else
  __device__ static void initialise_barriers(const UnpackShared<F>& shared) {
    if (Team::thread() != 0) return;
#pragma unroll
    for (int i = 0; i < F::config.stages; ++i) initialise_barrier(shared.barrier(i).at, 1);
    publish_barriers();
  }

  /// By one thread, whatever there is of them: whoever reads the stage waits for its barrier.
  __device__ void copy_at_once(unsigned begin, unsigned units, const UnpackShared<F>& shared, unsigned stage) const {
    const unsigned barrier = shared.barrier(stage).at;
    arrive_expecting(barrier, units * packed_unit_bytes());
    const unsigned char* const from = data_ + static_cast<unsigned long long>(begin) * packed_unit_bytes();
    if (units > 0)
      copy_bulk<F::config.stream_strips>(shared.strips(stage).at, from, units * packed_unit_bytes(), barrier);
  }
#endif

  const unsigned* offsets_;
  const unsigned char* data_;
  unsigned next_;  ///< the thread's own of the next k block to ask for; strips number their 16-byte units in 32 bits,
                   ///< and so themselves
  unsigned block_step_;
  SharedAddress places_;
  unsigned left_;  ///< k blocks not asked for
  StageIndex<places> asked_;
  StageIndex<places> taken_;
};

/// Waits for the strips of a stage that come in bulk, one stage after the other.
template <class F>
class StripArrivals {
 public:
  __device__ void wait([[maybe_unused]] const UnpackShared<F>& shared, [[maybe_unused]] unsigned stage) {
#if !defined(VOSTOK_EMULATOR)
    if constexpr (copies_in_bulk(F::config)) {
      wait_barrier(shared.barrier(stage).at, round_);
      if (stage + 1 == F::config.stages) round_ ^= 1;
    }
#endif
  }

 private:
  unsigned round_ = 0;  ///< through the stages: even or odd
};

/// The strips of one warp in a k block that did not fit its stage, in global memory.
template <class F>
__device__ inline const unsigned char* strip_in_memory(const PackedStrips& packed, unsigned block, unsigned strip) {
  const unsigned unit = load_global(packed.offsets + static_cast<long long>(block) * packed.row_strips + strip);
  return packed.data + static_cast<unsigned long long>(unit) * packed_unit_bytes();
}

}  // namespace vostok
