// The totals of a block's tile. Where teams have taken its k blocks in turn they are added up by way of shared memory,
// in the order of the teams: deterministic, however they ran.
#pragma once

#include "parts/shared.h"
#include "parts/vector.h"
#include "spmm/unpack_shared.h"
#include "spmm/unpack_team.h"

namespace vostok {

/// visit(strip, octet, sums) for each fragment of the tile, by a warp that has its total; `warp` has the parts that
/// this warp summed.
template <class F, class Warp, class Visit>
__device__ inline void visit_team_totals(const Warp& warp, const UnpackTile<F>& tile, Visit visit) {
  using Team = UnpackTeam<F>;
  using Fragment = Vector<float, 4>;
  if constexpr (Team::count == 1) {
    warp.visit_totals(visit);
  } else {
    constexpr unsigned octets = tile_columns(F::config) / 8;
    constexpr unsigned fragments = tile_strips(F::config) * octets;
    static_assert(team_sums_bytes(F::config) == Team::count * fragments * 32 * sizeof(Fragment),
                  "team_sums_bytes differs from the layout");
    Fragment* const parts =
        reinterpret_cast<Fragment*>(&dynamic_shared<typename UnpackShared<F>::Block>()) + warp.lane();
    __syncthreads();  // nobody reads stages any more
    warp.visit_totals([&](unsigned strip, unsigned octet, const float(&sums)[4]) {
      const unsigned fragment = (strip - tile.first_strip()) * octets + octet;
      parts[(Team::number() * fragments + fragment) * 32] = {sums[0], sums[1], sums[2], sums[3]};
    });
    __syncthreads();
    for (unsigned fragment = Team::number(); fragment < fragments; fragment += Team::count) {
      float sums[4] = {};
#pragma unroll 4
      for (unsigned team = 0; team < Team::count; ++team) {
        const Fragment part = parts[(team * fragments + fragment) * 32];
#pragma unroll
        for (int i = 0; i < 4; ++i) sums[i] += part.at[i];
      }
      visit(tile.first_strip() + fragment / octets, fragment % octets, sums);
    }
  }
}

}  // namespace vostok
