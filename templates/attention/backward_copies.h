// What blocks of attention's gradient copy to shared memory: their own lines, and tiles of others with two numbers of
// each query. `Places` as tile_copies.h has it, and own_key(line, chunk) and own_value(...), bytes from the own lines
// on.
#pragma once

#include "abi/fused_backward.h"
#include "attention/attention_work.h"
#include "attention/tile_copies.h"

namespace vostok {

/// A block's own lines, of key_size and of value_size, by `threads` of its threads.
template <class F, class Places, int threads>
__device__ inline void copy_own_operands(const FusedBackwardArgs& args, const AttentionWork<F>& work, SharedAddress own,
                                         unsigned thread) {
  constexpr auto traits = F::traits;
  const FusedAttentionArgs& walk = args.walk;
  LinesOfHeads keys = {walk.query, walk.query_leading, walk.query_stride};
  LinesOfHeads values = {args.own_values, args.own_values_leading, args.own_values_stride};
  if constexpr (traits.terms > 0) {
    keys = lines_of_terms(walk.terms.query, key_elements<F>(), walk.rows);
    values = lines_of_terms(args.own_value_terms, value_elements<F>(), walk.rows);
  }
  copy_own_lines<F, key_elements<F>(), threads>(
      keys, walk.key_size, work.head, work.first_row, walk.rows, thread,
      [&](int line, int chunk) { return own + Places::own_key(line, chunk); });
  copy_own_lines<F, value_elements<F>(), threads>(
      values, walk.value_size, work.head, work.first_row, walk.rows, thread,
      [&](int line, int chunk) { return own + Places::own_value(line, chunk); });
}

/// Queues the copies of the next tile. `numbers`: where those of its queries go, by key.
template <class F, class Copies>
__device__ inline void copy_backward_tile(const FusedBackwardArgs& args, Copies& copies, SharedAddress stage,
                                          SharedAddress numbers, unsigned thread) {
  copies.copy(stage, [&](int line, long long query, bool there) {
    if (F::traits.part == BackwardPart::by_key && thread % 8 == 0)
      copy_async<8>(numbers + 8 * line, args.statistics + 2 * (copies.head() * args.queries + query), there ? 8 : 0);
  });
}

}  // namespace vostok
