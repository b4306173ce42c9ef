// unpack_mma on the host, in four parts: traits and launches (unpack_mma.cpp), rules, space, cost model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <abi/unpack_mma.h>

#include "ops/spmm/problem.hpp"

namespace vostok::ops::unpack_mma {

/// The kernel's traits, by the problem and how a config cuts it.
UnpackMmaTraits traits(const SpmmQuery& query, const UnpackMmaConfig& config);
/// Only the traits that shared_bytes() reads; the others keep their defaults. Ranking needs no more.
UnpackMmaTraits stage_traits(const SpmmQuery& query);

/// Blocks of 64 k in the matrix, and in a slice of k.
std::int64_t k_blocks(const SpmmQuery& query);
std::int64_t slice_blocks(const SpmmQuery& query, const UnpackMmaConfig& config);

/// The most k blocks whose sums a second accumulator can take within the error bound of `accurate`: each addition
/// rounds, and all in one direction if all elements are alike.
inline constexpr std::int64_t most_accurate_blocks = 64;

/// Bytes of the sums of all slices, if k is cut.
std::int64_t partial_bytes(const SpmmQuery& query, const UnpackMmaConfig& config);

/// Why the family cannot serve the query at all; nothing if it can (unpack_mma_rules.cpp).
std::optional<std::string> declines(const SpmmQuery& query);

/// Why the kernel cannot run this config here; nothing if it can (unpack_mma_rules.cpp).
std::optional<std::string> forbidden(const SpmmQuery& query, const UnpackMmaConfig& config);
/// As forbidden() without its text, for searches over thousands of configs.
bool admits(const SpmmQuery& query, const UnpackMmaConfig& config);

/// Resident blocks of this config on an SM, by shared memory, threads and an estimate of the registers.
int resident_blocks(const SpmmQuery& query, const UnpackMmaConfig& config);

/// Pairs per strip at the query's density, with a margin for the spread of sums over this many strips; a multiple
/// of 16.
int usual_strip_pairs(const SpmmQuery& query, int strips = 1);

/// A tile for n, as many stages as fit beside each other on an SM, and slices of k if tiles are too few
/// (unpack_mma_space.cpp).
UnpackMmaConfig default_config(const SpmmQuery& query);
/// The config with the smallest demands on the device.
UnpackMmaConfig smallest_config(const SpmmQuery& query);

/// The whole space, default first, without repeats, legal or not.
std::vector<UnpackMmaConfig> space(const SpmmQuery& query);

/// Configs that cover the space's corners, default first.
std::vector<UnpackMmaConfig> short_list(const SpmmQuery& query);

/// Predicted microseconds, for ranking (unpack_mma_cost.cpp).
double predict_us(const SpmmQuery& query, const UnpackMmaConfig& config);

}  // namespace vostok::ops::unpack_mma
