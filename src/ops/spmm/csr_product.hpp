// What families share on the host that read A's values as CSR holds them and B as it lies: traits, what their launches prepare in
// the workspace, and the operands among their kernels' arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <abi/csr_product.h>

#include "ops/spmm/problem.hpp"

namespace vostok::ops::csr_product {

/// What the problem fixes for the kernel.
CsrProductTraits traits(const SpmmQuery& query);

/// Why no such kernel can serve the query; nothing where one can.
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

/// Those that the problem leaves open, best guess first: a column-major B is read by rows but where it has one column,
/// and a transposed A's values are looked up in the load.
std::vector<Preparation> preparations(const SpmmQuery& query);

/// Where what is prepared lies in the workspace.
struct PreparedOperands {
  std::int64_t value_stride = 0;  ///< elements between two sets of packed values
  std::int64_t value_sets = 0;
  std::int64_t dense_offset_bytes = 0;
  std::int64_t bytes = 0;  ///< of all of it, a multiple of 256
};

PreparedOperands prepared_operands(const SpmmQuery& query, const Preparation& preparation);

/// The launches that prepare, in order.
std::vector<Launch> preparing_launches(const SpmmQuery& query, const Preparation& preparation, const TopologyPointers& topology);

/// What fills the operands among a kernel's arguments from a call's.
class OperandBinding {
 public:
  OperandBinding(const SpmmQuery& query, const Preparation& preparation, const TopologyPointers& topology);

  /// `slow_tiles`: those of one product in the direction that varies slowly.
  CsrProductArgs operator()(const SpmmArguments& call, std::int64_t slow_tiles) const;

  std::int64_t m() const { return m_; }
  std::int64_t batch() const { return batch_; }

 private:
  StoredMatrix dense(std::int64_t n) const;

  const void* column_indices_;
  const void* row_offsets_;
  const std::int32_t* value_positions_;
  Preparation preparation_;
  std::int64_t m_;
  std::int64_t k_;
  std::int64_t nonzeros_;
  std::int64_t batch_;
  std::int64_t dense_leading_;  ///< these are the problem's: 0 where packed
  std::int64_t dense_stride_;
  std::int64_t output_leading_;
  std::int64_t output_stride_;
  std::int64_t value_stride_;  ///< 0 where values are shared
  std::int64_t prepared_dense_bytes_;
  Layout dense_layout_;
  Layout output_layout_;
  Dtype element_;
};

// What spaces of configs are made from.

/// The most elements of B that one load takes, and of C that one store takes, where operands are so prepared.
int widest_dense_vector(const SpmmQuery& query, const CsrProductTraits& traits, const Preparation& preparation);

/// Entries that a lane loads at once: as wide as the values' loads may be; as wide as the indices' where values are loaded one by one.
int widest_sparse_vector(const SpmmQuery& query, const CsrProductTraits& traits, const Preparation& preparation);

/// n rounded up to a power of two, at most `most`.
int rounded_columns(const SpmmQuery& query, int most);

/// An output that does not stay in L2 anyway is streamed past it.
bool streams_output(const SpmmQuery& query);

}  // namespace vostok::ops::csr_product
