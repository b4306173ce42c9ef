// row_strips on the host, in four parts: traits and launches (row_strips.cpp), rules, space, cost model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <abi/row_strips.h>

#include "ops/sddmm/problem.hpp"

namespace vostok::ops::row_strips {

/// A dense operand as the kernel reads it: [rows, n], row-major. A column-major operand is first transposed into the
/// workspace, where its rows start at multiples of 16 bytes.
struct DenseRows {
  bool transposed = false;
  std::int64_t leading = 0;
  std::int64_t stride = 0;
  std::int64_t workspace_offset = 0;  ///< bytes, if transposed
  std::int64_t workspace_bytes = 0;   ///< 0 if not transposed
  std::int64_t alignment = 16;        ///< bytes; divides every row's start
};

struct DenseOperands {
  DenseRows lhs;
  DenseRows rhs;

  std::int64_t workspace_bytes() const { return lhs.workspace_bytes + rhs.workspace_bytes; }
};

DenseOperands dense_operands(const SddmmQuery& query);

/// The most elements of n in one of the config's n_split parts: whole steps if there are several parts.
std::int64_t part_length(const SddmmQuery& query, const RowStripsConfig& config);

/// The kernel's traits, which the problem fixes.
RowStripsTraits traits(const SddmmQuery& query);

/// Why the kernel cannot run this config here; nothing if it can (row_strips_rules.cpp).
std::optional<std::string> forbidden(const SddmmQuery& query, const RowStripsConfig& config);

/// Widest legal vectors, and lanes for 128 bytes of a row. The cost model chooses strips, loads in flight and parts
/// of n (row_strips_space.cpp).
RowStripsConfig default_config(const SddmmQuery& query);

/// The whole space, default first, without repeats, legal or not.
std::vector<RowStripsConfig> space(const SddmmQuery& query);

/// Configs that cover the space's corners, default first.
std::vector<RowStripsConfig> short_list(const SddmmQuery& query);

/// Predicted microseconds, for ranking (row_strips_cost.cpp).
double predict_us(const SddmmQuery& query, const RowStripsConfig& config);

}  // namespace vostok::ops::row_strips
