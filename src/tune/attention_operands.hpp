// What both passes of attention run on: the inputs of every head, and outputs that show what was written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <vostok/attention.hpp>

#include "device/device.hpp"
#include "sparse/attention_reference.hpp"
#include "sparse/csr.hpp"

namespace vostok::tune {

/// An operand [heads, rows, width]. Heads may lie one behind the other, or side by side within a row.
struct HeadsShape {
  std::int64_t heads = 0;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  std::int64_t leading = 0;  ///< elements between two rows of a head
  std::int64_t stride = 0;   ///< elements between two heads

  std::int64_t at(std::int64_t head, std::int64_t row) const { return head * stride + row * leading; }
  /// Elements from the first to past the last.
  std::int64_t extent() const { return heads == 0 || rows == 0 || width == 0 ? 0 : at(heads - 1, rows - 1) + width; }
  /// Whether each of the extent's elements belongs to a head.
  std::vector<bool> owned() const;
};

/// Random values, rounded to their type. What lies between rows and heads is NaN: no result may depend on it.
class HeadsInput {
 public:
  HeadsInput(device::Device& device, Dtype type, const HeadsShape& shape, int alignment_bytes, std::uint64_t seed);

  void* data() const { return buffer_.as<std::byte>() + shift_bytes_; }
  sparse::DenseView view(std::int64_t head) const { return {.data = values_.data() + shape_.at(head, 0), .row_step = shape_.leading}; }

 private:
  HeadsShape shape_;
  std::int64_t shift_bytes_;
  std::vector<float> values_;
  device::Buffer buffer_;
};

/// Poison until it is written, between two guard bands.
class HeadsOutput {
 public:
  HeadsOutput(device::Device& device, Dtype type, const HeadsShape& shape, int alignment_bytes);

  void* data() const { return buffer_.as<std::byte>() + front_bytes_; }
  void poison(Stream stream) const;

  struct Contents {
    std::vector<float> values = {};  ///< as they lie, the gaps too
    std::string wrong = {};          ///< what was written and should not have been, or the other way round
  };
  /// `what` names the output in the sentence.
  Contents read(const char* what) const;

  /// Normwise error of one head of what was read, against [rows, width].
  double error(const Contents& contents, std::int64_t head, const std::vector<double>& reference) const;

 private:
  device::Device* device_;
  Dtype type_;
  HeadsShape shape_;
  std::int64_t front_bytes_;
  device::Buffer buffer_;
};

/// The inputs of the forward pass, which the backward pass reads again.
class AttentionOperands {
 public:
  AttentionOperands(device::Device& device, const SparseAttention& problem, sparse::Csr mask, std::uint64_t seed);

  const SparseAttention& problem() const { return problem_; }
  const sparse::Csr& mask() const { return mask_; }
  HeadsShape query_shape() const;
  HeadsShape key_shape() const;
  HeadsShape value_shape() const;
  HeadsShape output_shape() const;
  /// Of what a forward pass leaves in `saved_bytes`.
  HeadsShape saved_shape(std::int64_t saved_bytes) const;
  Dtype saved_type() const { return problem_.saved == Saved::probabilities ? problem_.element : Dtype::f32; }

  const HeadsInput& query() const { return query_; }
  const HeadsInput& key() const { return key_; }
  const HeadsInput& value() const { return value_; }
  sparse::AttentionHead head(std::int64_t head) const;

  /// The heads whose results are compared: all, or as many of a seeded choice as float64 can be asked for.
  std::vector<std::int64_t> sampled_heads(std::uint64_t seed) const;
  /// Nonzeros of the longest row and of the longest column.
  std::int64_t longest_row() const;
  std::int64_t longest_column() const;

 private:
  SparseAttention problem_;  ///< value_size filled in
  sparse::Csr mask_;
  HeadsInput query_;
  HeadsInput key_;
  HeadsInput value_;
};

}  // namespace vostok::tune
