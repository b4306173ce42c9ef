// What the families have in common that compute dense products of a mask's tiles on tensor cores and gather the mask's elements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <abi/tensor_sample.h>

#include "ops/sddmm/problem.hpp"
#include "ops/sddmm/sample_operands.hpp"

namespace vostok::ops::sampled {

/// What the problem fixes for a kernel that sums all of n, or one of several parts of it: what is done to whole sums is then left to the
/// kernel that adds them.
TensorSampleTraits traits(const SddmmQuery& query, int n_split = 1);

/// Steps of 16, and blocks of 64, that n has.
std::int64_t n_steps(const SddmmQuery& query);
std::int64_t n_blocks(const SddmmQuery& query);
/// n blocks that one of so many parts has at most.
std::int64_t part_blocks(const SddmmQuery& query, int n_split);
/// Whether some of so many parts would have nothing to sum.
bool has_empty_parts(const SddmmQuery& query, int n_split);

/// Smallest n_split that keeps the error bound of `accurate` where sums leave the tensor cores every `promotion_steps` (0: never).
int least_split(const SddmmQuery& query, int promotion_steps);
/// Whether this n_split keeps it.
bool adds_few_sums(const SddmmQuery& query, int promotion_steps, int n_split);
/// Parts that fill the device once with blocks that have a tile each, `least` or more.
int filling_split(const SddmmQuery& query, const TileShape& shape, int blocks_per_multiprocessor, int least);

/// Tiles that hold nonzeros, were these spread evenly; and the entries of one of them.
double expected_tiles(const SddmmQuery& query, const TileShape& shape);
double expected_entries(const SddmmQuery& query, const TileShape& shape);
/// Room for most tiles' lists, in few different sizes, each a power of two of at most `most`.
int list_room(const SddmmQuery& query, const TileShape& shape, int most);

/// Microseconds in which `bytes` go to and come from L2 or memory, for cost models; those of preparing the operands; and of adding parts.
double moved_us(const SddmmQuery& query, double bytes);
double prepare_us(const SddmmQuery& query, PackedMode mode);
double sum_us(const SddmmQuery& query, int n_split);

/// The modes that may serve, the likely best first.
std::vector<PackedMode> modes(const SddmmQuery& query);
/// Nonzeros that do not stay in L2 anyway are streamed past it.
bool streams_output(const SddmmQuery& query);

/// Why such families cannot serve the query at all.
std::optional<std::string> declines(const SddmmQuery& query);

/// Where a kernel finds operands, lists and output.
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
  SampledRows lhs = {};  ///< without the addresses, which a call brings
  SampledRows rhs = {};

  static Binding of(const SddmmQuery& query, const PreparedRowPair& prepared, const TileLists& lists, int n_split);
  TensorSampleArgs arguments(const SddmmArguments& call) const;
};

}  // namespace vostok::ops::sampled
