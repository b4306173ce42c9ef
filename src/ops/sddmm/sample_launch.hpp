// Shared by the families that compute dense products of a mask's tiles on tensor cores and gather the mask's elements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <abi/tensor_sample.h>

#include "ops/sddmm/problem.hpp"
#include "ops/sddmm/sample_operands.hpp"

namespace vostok::ops::sampled {

/// Traits of a kernel that sums all of n, or one of n_split parts of it. With several parts, the scale, multiplication
/// and accumulation of D are left to the kernel that adds the parts.
TensorSampleTraits traits(const SddmmQuery& query, int n_split = 1);

/// Steps of 16, and blocks of 64, in n.
std::int64_t n_steps(const SddmmQuery& query);
std::int64_t n_blocks(const SddmmQuery& query);
/// The most n blocks in one of n_split parts.
std::int64_t part_blocks(const SddmmQuery& query, int n_split);
/// Whether some of n_split parts would be empty.
bool has_empty_parts(const SddmmQuery& query, int n_split);

/// Smallest n_split that keeps the error bound of `accurate` where sums leave the tensor cores every `promotion_steps`
/// (0: never).
int least_split(const SddmmQuery& query, int promotion_steps);
/// Whether this n_split keeps it.
bool adds_few_sums(const SddmmQuery& query, int promotion_steps, int n_split);
/// The n_split, at least `least`, with which blocks of one tile each fill the device once.
int filling_split(const SddmmQuery& query, const TileShape& shape, int blocks_per_multiprocessor, int least);

/// Tiles with nonzeros if these were spread evenly over a share of the mask's place, and the entries of one such tile.
double expected_tiles(const SddmmQuery& query, const TileShape& shape, double share = 1);
double expected_entries(const SddmmQuery& query, const TileShape& shape);
/// Room that holds most tiles' lists: a power of two, at most `most`, so that few different kernels arise.
int list_room(const SddmmQuery& query, const TileShape& shape, int most);

/// Predicted microseconds, for cost models: moving `bytes` to and from L2 or memory; preparing the operands; adding
/// parts.
double moved_us(const SddmmQuery& query, double bytes);
double prepare_us(const SddmmQuery& query, PackedMode mode);
double sum_us(const SddmmQuery& query, int n_split);

/// The modes that may serve, the likely best first.
std::vector<PackedMode> modes(const SddmmQuery& query);
bool serves(const SddmmQuery& query, PackedMode mode);
/// Whether sums are certified: where infinities may meet the terms of what was split, which would make them NaN, if the
/// problem asks for IEEE's sum.
inline bool certifies(const SddmmQuery& query) {
  return query.problem.nonfinite == NonFinite::sparse && query.problem.element == Dtype::f32;
}

/// Why such families cannot serve the query at all.
std::optional<std::string> declines(const SddmmQuery& query);

/// Addresses and layout of a kernel's operands, lists and output.
struct Binding {
  TileLists lists;
  PreparedRowPair prepared;
  std::int64_t output_stride = 0;
  std::int64_t multiplier_stride = 0;
  std::int64_t n_steps = 0;
  std::int64_t part_blocks = 0;
  std::int64_t batch = 0;
  int parts = 1;
  std::int64_t n = 0;
  SampledRows lhs = {};  ///< without the addresses, which a call supplies
  SampledRows rhs = {};

  static Binding of(const SddmmQuery& query, const PreparedRowPair& prepared, const TileLists& lists, int n_split);
  TensorSampleArgs arguments(const SddmmArguments& call) const;
};

}  // namespace vostok::ops::sampled
