// The operands of both passes of attention: the inputs of every head, and the references for the results.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <vostok/attention.hpp>

#include "device/device.hpp"
#include "ops/attention/problem.hpp"
#include "ops/stored_matrix.hpp"
#include "sparse/attention_reference.hpp"
#include "sparse/csr.hpp"
#include "tune/attention_bias.hpp"
#include "tune/case.hpp"
#include "tune/device_operand.hpp"
#include "tune/guarded_output.hpp"

namespace vostok::tune {

/// A batch [heads, rows, width], random and rounded to the type. Heads may lie one after the other, or side by side
/// within a row. Gaps between rows and heads are NaN: no result may depend on them.
class HeadsInput {
 public:
  HeadsInput(device::Device& device, const SparseAttention& problem, const ops::StoredMatrix& shape, std::int64_t heads,
             std::uint64_t seed);

  void* data() const { return operand_.data(); }
  sparse::DenseView view(std::int64_t head) const {
    return {.data = values_.data() + head * shape_.stride, .row_step = shape_.leading};
  }

 private:
  ops::StoredMatrix shape_;
  std::vector<float> values_;
  DeviceOperand operand_;
};

/// An output [heads, rows, width], poisoned and guarded.
class HeadsOutput {
 public:
  HeadsOutput(device::Device& device, const SparseAttention& problem, Dtype type, const ops::StoredMatrix& shape,
              std::int64_t heads);

  void* data() const { return memory_.data(); }
  void poison(Stream stream) const { memory_.reset(stream); }
  /// What a pass before would have left: one reference [rows, width] a head, and zeros where there is none.
  void write(Stream stream, const std::vector<std::vector<double>>& heads) const;
  /// Reads what a kernel left. Sets `wrong`, if it is empty, to a sentence about the output `name` when that is at
  /// fault.
  GuardedOutput::Contents read(const char* name, std::string& wrong) const;
  /// Normwise error of one head of the contents, against [rows, width].
  double error(const GuardedOutput::Contents& contents, std::int64_t head, const std::vector<double>& reference) const;

 private:
  Dtype type_;
  ops::StoredMatrix shape_;
  GuardedOutput memory_;
};

/// The inputs of the forward pass, which the backward pass reads again.
class AttentionOperands {
 public:
  AttentionOperands(device::Device& device, const SparseAttention& problem, sparse::Csr mask, std::uint64_t seed);

  const SparseAttention& problem() const { return problem_; }
  /// Without what a causal problem leaves out.
  const sparse::Csr& mask() const { return mask_; }
  std::int64_t group() const { return ops::group_of(problem_); }
  /// Of a call; 0 where the problem is not capped.
  float softcap() const;
  /// Likewise, and null, where it is not dropped.
  float dropout() const;
  const std::uint64_t* dropout_state() const;
  ops::StoredMatrix query_shape() const;
  ops::StoredMatrix key_shape() const;
  ops::StoredMatrix value_shape() const;
  ops::StoredMatrix output_shape() const;

  const HeadsInput& query() const { return query_; }
  const HeadsInput& key() const { return key_; }
  const HeadsInput& value() const { return value_; }
  const BiasInput& bias() const { return bias_; }
  sparse::AttentionHead head(std::int64_t head) const;

  /// Of all heads of queries, or of keys.
  HeadsOutput make_output(device::Device& device, const ops::StoredMatrix& shape) const {
    return {device, problem_, problem_.element, shape, problem_.batch};
  }
  HeadsOutput make_key_output(device::Device& device, const ops::StoredMatrix& shape) const {
    return {device, problem_, problem_.element, shape, ops::key_heads_of(problem_)};
  }
  /// An output for what a forward pass saves, `saved_bytes` long.
  HeadsOutput make_saved(device::Device& device, std::int64_t saved_bytes) const;

  /// The heads whose results are compared: all, or a seeded sample as large as a float64 reference can afford.
  std::vector<std::int64_t> sampled_heads(std::uint64_t seed) const;
  /// The same of heads of keys, each with all heads of queries that read it.
  std::vector<std::int64_t> sampled_key_heads(std::uint64_t seed) const;
  /// Nonzeros of the longest row and of the longest column.
  std::int64_t longest_row() const;
  std::int64_t longest_column() const;

 private:
  std::vector<std::int64_t> sampled(std::int64_t count, std::int64_t heads_each, std::uint64_t seed) const;

  SparseAttention problem_;  ///< value_size filled in
  BiasInput bias_;
  sparse::Csr mask_;
  HeadsInput query_;
  HeadsInput key_;
  HeadsInput value_;
  std::array<std::uint64_t, 2> dropout_state_;  ///< seed and offset
  DeviceOperand dropout_on_device_;
};

}  // namespace vostok::tune
