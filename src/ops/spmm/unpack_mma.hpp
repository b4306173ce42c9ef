// unpack_mma on the host, in four parts: traits and launches (unpack_mma.cpp), rules, space, cost model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <abi/unpack_mma.h>

#include "ops/spmm/problem.hpp"

namespace vostok::ops {

std::unique_ptr<Family> make_unpack_mma();

namespace unpack_mma {

/// What the problem, and how a config cuts it, fix for the kernel.
UnpackMmaTraits traits(const SpmmQuery& query, const UnpackMmaConfig& config);
/// Only the traits that shared_bytes() reads; the others keep their defaults. Ranking needs no more.
UnpackMmaTraits stage_traits(const SpmmQuery& query);

/// k blocks of 64 of the matrix, and of a slice of k.
std::int64_t k_blocks(const SpmmQuery& query);
std::int64_t slice_blocks(const SpmmQuery& query, const UnpackMmaConfig& config);

/// k blocks whose sums a second accumulator takes within the error that `accurate` promises: each addition rounds, all alike
/// where all elements are.
inline constexpr std::int64_t most_accurate_blocks = 64;

/// Bytes of the sums of all slices, where k is cut into some.
std::int64_t partial_bytes(const SpmmQuery& query, const UnpackMmaConfig& config);

/// Why the family cannot serve the query at all; nothing where it can (unpack_mma_rules.cpp).
std::optional<std::string> declines(const SpmmQuery& query);

/// Why the kernel cannot run this config here; nothing where it can (unpack_mma_rules.cpp).
std::optional<std::string> forbidden(const SpmmQuery& query, const UnpackMmaConfig& config);
/// Whether it can, without a text: spaces ask this of thousands.
bool admits(const SpmmQuery& query, const UnpackMmaConfig& config);

/// Blocks of this config that share a multiprocessor, by its memory, threads and an estimate of the registers.
int resident_blocks(const SpmmQuery& query, const UnpackMmaConfig& config);

/// Pairs per strip that a mask of the query's density has, with room for the spread over sums of so many strips; a multiple of 16.
int usual_strip_pairs(const SpmmQuery& query, int strips = 1);

/// A tile for n, as many stages as share a multiprocessor, and slices of k where tiles are too few (unpack_mma_space.cpp).
UnpackMmaConfig default_config(const SpmmQuery& query);
/// The config that asks for the least of the device.
UnpackMmaConfig smallest_config(const SpmmQuery& query);

/// The whole space, default first, without repeats; the rules decide what of it is admitted.
std::vector<UnpackMmaConfig> space(const SpmmQuery& query);

/// Configs that cover the space's corners, default first.
std::vector<UnpackMmaConfig> short_list(const SpmmQuery& query);

/// Predicted microseconds, for ranking (unpack_mma_cost.cpp).
double predict_us(const SpmmQuery& query, const UnpackMmaConfig& config);

}  // namespace unpack_mma
}  // namespace vostok::ops
