// Host code shared by the families that read CSR values of A and B in place: traits, the launches that prepare operands
// in the workspace, and the operands in their kernels' arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <abi/csr_product.h>

#include "ops/spmm/dense_operands.hpp"
#include "ops/spmm/problem.hpp"

namespace vostok::ops::csr_product {

/// The kernel's traits, which the problem fixes.
CsrProductTraits traits(const SpmmQuery& query);

/// Why no such kernel can serve the query; nothing if one can.
std::optional<std::string> declines(const SpmmQuery& query);

/// How operands reach the kernel.
struct Preparation {
  bool prepare_dense = false;  ///< a column-major B is transposed into the workspace first
  bool pack_values = false;    ///< the values of a transposed A are gathered into the workspace first
};

template <class Config>
Preparation preparation_of(const Config& config) {
  return {.prepare_dense = config.prepare_dense, .pack_values = config.pack_values};
}

/// The preparations that the problem leaves open, best guess first: a column-major B is transposed unless it has one
/// column, and a transposed A's values are looked up in the load.
std::vector<Preparation> preparations(const SpmmQuery& query);

/// Layout of the prepared operands in the workspace.
struct PreparedOperands {
  std::int64_t value_stride = 0;  ///< elements between two sets of packed values
  std::int64_t value_sets = 0;
  std::int64_t dense_offset_bytes = 0;
  std::int64_t bytes = 0;  ///< of all prepared operands, a multiple of 256
};

PreparedOperands prepared_operands(const SpmmQuery& query, const Preparation& preparation);

/// The launches that prepare operands, in order.
std::vector<Launch> preparing_launches(const SpmmQuery& query, const Preparation& preparation,
                                       const TopologyPointers& topology);

/// Fills the operands in a kernel's arguments from a call's.
class OperandBinding {
 public:
  OperandBinding(const SpmmQuery& query, const Preparation& preparation, const TopologyPointers& topology);

  /// `slow_tiles`: tiles of one product in the direction that varies slowly.
  CsrProductArgs operator()(const SpmmArguments& call, std::int64_t slow_tiles) const;

  std::int64_t m() const { return operands_.m; }
  std::int64_t batch() const { return operands_.batch; }

 private:
  StoredMatrix dense(std::int64_t n) const;

  const void* column_indices_;
  const void* row_offsets_;
  const std::int32_t* value_positions_;
  Preparation preparation_;
  DenseOperands operands_;
  std::int64_t nonzeros_;
  std::int64_t value_stride_;  ///< 0 if the batch shares values
  std::int64_t prepared_dense_bytes_;
  Dtype element_;
};

// Helpers for the spaces of configs.

/// The most elements in one load of B and one store of C, for operands prepared like this.
int widest_dense_vector(const SpmmQuery& query, const CsrProductTraits& traits, const Preparation& preparation);

/// Entries that a lane loads at once: as wide as values may be loaded, or as indices if values are loaded one by one.
int widest_sparse_vector(const SpmmQuery& query, const CsrProductTraits& traits, const Preparation& preparation);

/// n rounded up to a power of two, at most `most`.
int rounded_columns(const SpmmQuery& query, int most);

}  // namespace vostok::ops::csr_product
