// row_strips on the host, in four parts: traits and launches (row_strips.cpp), rules, space, cost model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <abi/row_strips.h>

#include "ops/sddmm/problem.hpp"

namespace vostok::ops {

std::unique_ptr<Family> make_row_strips();

namespace row_strips {

/// A dense operand as the kernel reads it: [rows, n], row-major. One that the problem has column-major is transposed into the
/// workspace first, where its rows start at multiples of 16 bytes.
struct DenseRows {
  bool transposed = false;
  std::int64_t leading = 0;
  std::int64_t stride = 0;
  std::int64_t workspace_offset = 0;  ///< bytes, where transposed
  std::int64_t workspace_bytes = 0;   ///< 0 where not transposed
  std::int64_t alignment = 16;        ///< bytes that divide every row's start
};

struct DenseOperands {
  DenseRows lhs;
  DenseRows rhs;

  std::int64_t workspace_bytes() const { return lhs.workspace_bytes + rhs.workspace_bytes; }
};

DenseOperands dense_operands(const SddmmQuery& query);

/// Largest n_split.
inline constexpr std::int64_t most_parts = 1024;

/// Elements of n that one of the config's n_split parts has at most: whole steps where there are several.
std::int64_t part_length(const SddmmQuery& query, const RowStripsConfig& config);

/// What the problem fixes for the kernel.
RowStripsTraits traits(const SddmmQuery& query);

/// Why the kernel cannot run this config here; nothing where it can (row_strips_rules.cpp).
std::optional<std::string> forbidden(const SddmmQuery& query, const RowStripsConfig& config);

/// Widest legal vectors, lanes for 128 bytes of a row; of strips, loads in flight and parts of n what the cost model likes
/// best (row_strips_space.cpp).
RowStripsConfig default_config(const SddmmQuery& query);

/// The whole space, default first, without repeats; the rules decide what of it is admitted.
std::vector<RowStripsConfig> space(const SddmmQuery& query);

/// Configs that cover the space's corners, default first.
std::vector<RowStripsConfig> short_list(const SddmmQuery& query);

/// Predicted microseconds, for ranking (row_strips_cost.cpp).
double predict_us(const SddmmQuery& query, const RowStripsConfig& config);

}  // namespace row_strips
}  // namespace vostok::ops
