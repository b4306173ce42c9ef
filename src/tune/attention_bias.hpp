// The biases of attention's scores: one for each element of the mask, also of those that a causal problem leaves out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <vostok/attention.hpp>

#include "device/device.hpp"
#include "ops/stored_matrix.hpp"
#include "sparse/csr.hpp"
#include "tune/device_operand.hpp"

namespace vostok::tune {

/// Random, and -infinity for one of eight, rounded to the type. Gaps between heads are NaN: no result may depend on
/// them.
class BiasInput {
 public:
  BiasInput(device::Device& device, const SparseAttention& problem, const sparse::Csr& mask, std::uint64_t seed);

  /// Null where the problem is not biased.
  const void* data() const { return elements_ > 0 ? operand_.data() : nullptr; }
  /// Of a head, by the elements that it sees; empty where the problem is not biased.
  std::span<const float> seen(std::int64_t head) const;
  /// The gradients of all elements, from those of the elements that are seen: others' are zeros.
  std::vector<double> of_all(const std::vector<double>& of_seen) const;
  /// How gradients lie: those of a head are a row.
  ops::StoredMatrix gradient_shape() const;

 private:
  std::int64_t elements_ = 0;             ///< of a problem that is biased
  std::vector<std::int64_t> places_;      ///< of the elements that are seen
  std::vector<std::vector<float>> seen_;  ///< each head's, or that of all
  DeviceOperand operand_;
};

}  // namespace vostok::tune
