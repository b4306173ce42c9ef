// Adds to the rules of the kernel (abi/unpack_mma.h) what only the problem or the device knows, and what cannot be
// fast.
#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/copy_engine.hpp"
#include "ops/grid.hpp"
#include "ops/limits.hpp"
#include "ops/rules.hpp"
#include "ops/spmm/packed_operand.hpp"
#include "ops/spmm/split_dense.hpp"
#include "ops/spmm/tile_rules.hpp"
#include "ops/spmm/unpack_mma.hpp"
#include "ops/spmm/unpack_sum.hpp"

namespace vostok::ops::unpack_mma {

namespace {

using Case = ops::Case<SpmmQuery, UnpackMmaTraits, UnpackMmaConfig>;
using Rule = ops::Rule<Case>;

/// Lower bound on a thread's registers for sums and fragments; addresses and counters need some more.
int registers_needed(const UnpackMmaConfig& c) {
  const int sums = lane_sums(c) * ((c.promotion_blocks > 0 ? 2 : 1) + (has_low_sums(c) ? 1 : 0));
  const int fragments = terms(c) * (4 * c.warp_strips + (c.warp_columns >= 16 ? 4 : 2));
  const int rows = packed_scales_rows(c.mode) ? 4 * c.warp_strips : 0;
  constexpr int addresses = 44;
  return sums + fragments + 2 * c.warp_strips + rows + addresses;
}

/// Ordered so that each may rely on those before it, and all on the kernel's.
constexpr std::array rules = {
    Rule{lacks_tf32_reason, [](const Case& c) { return lacks_tf32(c.query, c.config.mode); }},
    Rule{"bulk_strips takes the copy engine of sm_90 and later",
         [](const Case& c) { return c.config.bulk_strips && !has_copy_engine(c.query); }},
    of_tiles::every_slice_has_blocks<Case>,
    Rule{"a slice of k has fewer blocks of 64 than there are k_warps",
         [](const Case& c) { return c.config.k_warps > 1 && slice_blocks(c.query, c.config) < c.config.k_warps; }},
    Rule{"sums of more than 4096 k of one warp would round past what math = accurate allows",
         [](const Case& c) {
           return c.config.mode == PackedMode::f16x3 && c.query.problem.math == Math::accurate &&
                  ceil_div(slice_blocks(c.query, c.config), c.config.k_warps) > most_accurate_blocks;
         }},
    of_tiles::grid_holds_tiles<Case>,
    of_tiles::grid_holds_slices<Case>,
    of_tiles::stages_fit<Case>,
    Rule{"sums and fragments do not fit a thread's registers",
         [](const Case& c) { return registers_needed(c.config) > most_thread_registers; }},
    Rule{"a multiprocessor's shared memory, threads or registers are fewer than min_blocks blocks have",
         [](const Case& c) {
           return c.config.min_blocks > 1 && c.config.min_blocks > resident_blocks(c.query, c.config);
         }},
    of_tiles::columns_are_filled<Case>,
    of_tiles::strips_are_filled<Case>,
    Rule{"B cannot be cut into tiles: they are too many",
         [](const Case& c) { return c.config.prepare_dense && split_dense_declined(c.query, {}).has_value(); }},
    Rule{of_tiles::partial_bytes_reason,
         [](const Case& c) {
           return c.config.k_split > 1 && partial_bytes(c.query, c.config) > of_tiles::most_partial_bytes;
         }},
};

}  // namespace

int resident_blocks(const SpmmQuery& query, const UnpackMmaConfig& config) {
  const int registers = std::min(registers_needed(config), most_thread_registers);
  return multiprocessor_of(query.device, least_multiprocessor_of_sm_80)
      .resident_blocks(threads(config), registers, shared_bytes(stage_traits(query), config));
}

std::optional<std::string> declines(const SpmmQuery& query) {
  if (auto reason = packed_operand_declined(query)) return reason;
  return nothing_admitted([&] { return smallest_config(query); }, [&] { return default_config(query); },
                          [&](const UnpackMmaConfig& config) { return forbidden(query, config); });
}

bool admits(const SpmmQuery& query, const UnpackMmaConfig& config) {
  return reason_against(Case{query, stage_traits(query), config}, rules) == nullptr;
}

std::optional<std::string> forbidden(const SpmmQuery& query, const UnpackMmaConfig& config) {
  return to_reason(reason_against(Case{query, stage_traits(query), config}, rules));
}

}  // namespace vostok::ops::unpack_mma
