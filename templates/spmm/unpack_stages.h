// The ring of stages that cp.async fills: k block after k block, some of them on their way while another is multiplied.
#pragma once

#include "parts/async_copy.h"
#include "spmm/unpack_shared.h"
#include "spmm/unpack_strips.h"
#include "spmm/unpack_team.h"
#include "spmm/unpack_tile.h"

namespace vostok {

/// Brings a team's k blocks into shared memory, one after the other: strips, and B by `Dense`. When it is made it
/// copies the first strips and waits for the launch before: only then are there addresses of B, which would take
/// registers beside those of strips.
template <class F, class Dense>
class UnpackStages {
 public:
  template <class Args>
  __device__ UnpackStages(const Args& args, const UnpackTile<F>& tile, const PackedStrips& packed,
                          const UnpackShared<F>& shared)
      : shared_(shared),
        strips_(args, tile, packed, shared),
        dense_(args, tile),
        left_(UnpackTeam<F>::block_count(tile, args)) {}

  /// B of the first k blocks, in as many groups of copies.
  __device__ void start() {
    constexpr unsigned ahead = F::config.stages - 1;
    const unsigned count = left_ < ahead ? left_ : ahead;
#pragma unroll 1
    for (unsigned i = 0; i < ahead; ++i) {
      if (i < count) dense_.issue(shared_.dense(stage_.at), shared_.column_scales(stage_.at));
      commit_async();
      stage_.step();
    }
    left_ -= count;
  }

  /// The next k block, where there is one; a group of copies in any case.
  __device__ void issue() {
    if (left_ > 0) {
      --left_;
      dense_.issue(shared_.dense(stage_.at), shared_.column_scales(stage_.at));
      strips_.issue(shared_, stage_.at);
    }
    commit_async();
    stage_.step();
  }

 private:
  const UnpackShared<F>& shared_;
  StripStages<F> strips_;
  Dense dense_;
  StageIndex<F::config.stages> stage_;
  unsigned left_;
};

}  // namespace vostok
