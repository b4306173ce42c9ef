// The rules of unpack_mma: each a reason and when it holds. They repeat the kernel's own static_asserts, add what only
// the problem or the device knows, and exclude what cannot be fast.
#include <algorithm>
#include <array>
#include <limits>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/copy_engine.hpp"
#include "ops/grid.hpp"
#include "ops/shared_memory.hpp"
#include "ops/spmm/split_dense.hpp"
#include "ops/spmm/unpack_mma.hpp"
#include "ops/spmm/unpack_sum.hpp"
#include "ops/topology/packed_strips.hpp"

namespace vostok::ops::unpack_mma {

namespace {

struct Case {
  const SpmmQuery& query;
  UnpackMmaTraits traits;
  const UnpackMmaConfig& config;
};

struct Rule {
  const char* reason;
  bool (*breaks)(const Case&);
};

bool is_power_of_two(int value, int least, int most) { return value >= least && value <= most && (value & (value - 1)) == 0; }

int shared_of_multiprocessor(const device::Device* device) { return device != nullptr ? device->shared_bytes_per_multiprocessor() : 100 * 1024; }
int threads_of_multiprocessor(const device::Device* device) { return device != nullptr ? device->threads_per_multiprocessor() : 1536; }

/// Lower bound on a thread's registers for sums and fragments; addresses and counters need some more.
int registers_needed(const UnpackMmaConfig& c) {
  const int sums = lane_sums(c) * ((c.promotion_blocks > 0 ? 2 : 1) + (has_low_sums(c) ? 1 : 0));
  const int fragments = terms(c) * (4 * c.warp_strips + (c.warp_columns >= 16 ? 4 : 2));
  const int rows = packed_scales_rows(c.mode) ? 4 * c.warp_strips : 0;
  constexpr int addresses = 44;
  return sums + fragments + 2 * c.warp_strips + rows + addresses;
}

constexpr int most_registers = 255;

/// Lines of B as the kernel's threads copy them: 16-byte chunks of one.
int line_chunks(const Case& c) {
  if (c.config.prepare_dense) return 1;
  return (c.traits.dense_layout == Layout::column_major ? packed_strip_columns() : tile_columns(c.config)) * size_of(c.traits.element) / 16;
}

bool serves(PackedMode mode, const Spmm& problem) {
  if (problem.element == Dtype::f16) return mode == PackedMode::f16x1;
  if (problem.element == Dtype::bf16) return mode == PackedMode::bf16x1;
  return mode == PackedMode::f16x3 || (mode == PackedMode::bf16x3 && problem.math == Math::tf32);
}

/// Ordered so that each may rely on those before it. The first group repeats the kernel's own rules.
constexpr std::array rules = {
    Rule{"a block has a power of two of 1 to 32 warps",
         [](const Case& c) {
           return !is_power_of_two(c.config.row_warps, 1, 16) || !is_power_of_two(c.config.column_warps, 1, 32) ||
                  !is_power_of_two(c.config.k_warps, 1, 32) || threads(c.config) > 1024;
         }},
    Rule{"k_warps of several have the same strips and columns: row_warps and column_warps are 1",
         [](const Case& c) { return c.config.k_warps > 1 && c.config.row_warps * c.config.column_warps > 1; }},
    Rule{"a tile has 1, 2, 4, 8 or 16 strips",
         [](const Case& c) { return !is_power_of_two(c.config.warp_strips, 1, 16) || tile_strips(c.config) > packed_row_strip_multiple(); }},
    Rule{"warp_columns is a power of two from 8 to 128, and a tile has at most 256",
         [](const Case& c) { return !is_power_of_two(c.config.warp_columns, 8, 128) || tile_columns(c.config) > 256; }},
    Rule{"mode is f16x1 or bf16x1 for 16-bit elements; for f32 f16x3, or bf16x3 under math = tf32",
         [](const Case& c) { return !serves(c.config.mode, c.query.problem); }},
    Rule{lacks_certify_reason, [](const Case& c) { return certifies(c.query) && !c.config.certify; }},
    Rule{"only f32 is prepared", [](const Case& c) { return c.config.prepare_dense && terms(c.config) != 2; }},
    Rule{"stages is 2 to 8, and at least 3 where blocks split B",
         [](const Case& c) { return c.config.stages < (splits_dense(c.config) ? 3 : 2) || c.config.stages > 8; }},
    Rule{"strip_pairs is a multiple of 4 up to 512",
         [](const Case& c) { return c.config.strip_pairs < 4 || c.config.strip_pairs > packed_most_pairs() || c.config.strip_pairs % 4 != 0; }},
    Rule{"bulk_strips takes the copy engine of sm_90 and later", [](const Case& c) { return c.config.bulk_strips && !has_copy_engine(c.query); }},
    Rule{"stream_strips is for strips that come in bulk", [](const Case& c) { return c.config.stream_strips && !c.config.bulk_strips; }},
    Rule{"promotion_blocks is 0 to 1024, and 1 where each k block has scales of its own",
         [](const Case& c) {
           return c.config.promotion_blocks < 0 || c.config.promotion_blocks > 1024 ||
                  (packed_scales_rows(c.config.mode) && c.config.promotion_blocks != 1);
         }},
    Rule{"raster_rows, k_split and min_blocks are 1 or more",
         [](const Case& c) {
           return c.config.raster_rows < 1 || c.config.raster_rows > 65536 || c.config.k_split < 1 || c.config.k_split > 1024 ||
                  c.config.min_blocks < 1 || c.config.min_blocks > 32;
         }},
    Rule{"a line of B has more chunks than the threads that copy it",
         [](const Case& c) { return line_chunks(c) > threads(c.config) / teams(c.config); }},
    Rule{"k has fewer blocks of 64 than k_split has slices",
         [](const Case& c) { return c.config.k_split > 1 && (c.config.k_split - 1) * slice_blocks(c.query, c.config) >= k_blocks(c.query); }},
    Rule{"a slice of k has fewer blocks of 64 than there are k_warps",
         [](const Case& c) { return c.config.k_warps > 1 && slice_blocks(c.query, c.config) < c.config.k_warps; }},
    Rule{"sums of more than 4096 k of one warp would round past what math = accurate allows",
         [](const Case& c) {
           return c.config.mode == PackedMode::f16x3 && c.query.problem.math == Math::accurate &&
                  ceil_div(slice_blocks(c.query, c.config), c.config.k_warps) > most_accurate_blocks;
         }},
    Rule{"the grid's x holds fewer tiles than there are",
         [](const Case& c) {
           return ceil_div(c.query.statistics.rows, tile_rows(c.config)) >
                  most_blocks_on_x / std::max<std::int64_t>(1, ceil_div(c.query.n.most, tile_columns(c.config)));
         }},
    Rule{"the grid's y and z hold fewer slices than the batch has",
         [](const Case& c) { return c.query.problem.batch > most_blocks_on_y * most_blocks_on_y / c.config.k_split; }},
    Rule{"the stages do not fit the device's shared memory",
         [](const Case& c) { return shared_bytes(c.traits, c.config) > most_shared_bytes(c.query, block_shared_bytes_of_sm_80); }},
    Rule{"the sums of k_warps do not fit in the place of the stages",
         [](const Case& c) { return team_sums_bytes(c.config) > teams(c.config) * team_shared_bytes(c.config); }},
    Rule{"sums and fragments do not fit a thread's registers", [](const Case& c) { return registers_needed(c.config) > most_registers; }},
    Rule{"a multiprocessor's shared memory, threads or registers are fewer than min_blocks blocks have",
         [](const Case& c) { return c.config.min_blocks > 1 && c.config.min_blocks > resident_blocks(c.query, c.config); }},
    Rule{"half of the tile's columns or more would lie past the last one",
         [](const Case& c) { return tile_columns(c.config) > 8 && tile_columns(c.config) >= 2 * c.query.n.most; }},
    Rule{"half of the tile's strips, of more than two, would lie past the last row",
         [](const Case& c) { return tile_rows(c.config) > 2 * packed_strip_rows() && tile_rows(c.config) >= 2 * c.query.statistics.rows; }},
    Rule{"B cannot be cut into tiles: they are too many",
         [](const Case& c) { return c.config.prepare_dense && split_dense_declined(c.query, {}).has_value(); }},
    Rule{"the sums of slices would take more than 512 MiB",
         [](const Case& c) { return c.config.k_split > 1 && partial_bytes(c.query, c.config) > std::int64_t{512} << 20; }},
};

}  // namespace

int resident_blocks(const SpmmQuery& query, const UnpackMmaConfig& config) {
  constexpr int reserved_bytes = 1024;  // of shared memory, for each block
  constexpr int registers = 64 * 1024;
  constexpr int register_step = 8;
  const int thread_registers = static_cast<int>(round_up(std::min(registers_needed(config), most_registers), register_step));
  return std::min({shared_of_multiprocessor(query.device) / (shared_bytes(stage_traits(query), config) + reserved_bytes),
                   threads_of_multiprocessor(query.device) / threads(config), registers / (threads(config) * thread_registers)});
}

std::optional<std::string> declines(const SpmmQuery& query) {
  constexpr std::int64_t most_accurate_k = 65536;
  const Spmm& problem = query.problem;
  const TopologyStatistics& s = query.statistics;
  if (s.nonzeros == 0) return "A has no nonzeros";
  if (problem.math == Math::strict) return "math = strict is f32 multiply-adds, and this family multiplies on tensor cores";
  if (problem.element == Dtype::f32 && problem.math == Math::accurate && s.cols > most_accurate_k)
    return "math = accurate allows tensor cores up to K = 65536";
  if (s.rows > std::numeric_limits<std::int32_t>::max() || s.cols > std::numeric_limits<std::int32_t>::max())
    return "row and column numbers have 32 bits";
  if (auto reason = packed_strips_declined(s)) return reason;
  return nothing_admitted([&] { return smallest_config(query); }, [&] { return default_config(query); },
                          [&](const UnpackMmaConfig& config) { return forbidden(query, config); });
}

bool admits(const SpmmQuery& query, const UnpackMmaConfig& config) {
  return first_broken(rules, Case{query, stage_traits(query), config}) == rules.end();
}

std::optional<std::string> forbidden(const SpmmQuery& query, const UnpackMmaConfig& config) {
  return reason_against(rules, Case{query, stage_traits(query), config});
}

}  // namespace vostok::ops::unpack_mma
