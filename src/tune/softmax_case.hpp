// A softmax, forward or backward, with random operands on a device.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <vostok/softmax.hpp>

#include "device/device.hpp"
#include "sparse/csr.hpp"
#include "sparse/softmax_reference.hpp"
#include "tune/case.hpp"
#include "tune/device_operand.hpp"
#include "tune/guarded_output.hpp"

namespace vostok::tune {

/// The rows of a batch that are compared: all, or a seeded sample if there are too many.
struct SampledRows {
  struct Row {
    std::int64_t batch;
    std::int64_t row;
  };
  std::vector<Row> rows;
  std::vector<std::int64_t> offsets = {0};  ///< of the rows' entries, concatenated

  static SampledRows of(const sparse::Csr& matrix, std::int64_t batch, std::uint64_t seed);
  /// The rows' entries of `values`, which has a set for each element of the batch, `stride` apart.
  std::vector<float> gather(const sparse::Csr& matrix, const std::vector<float>& values, std::int64_t stride) const;
};

class SoftmaxCase final : public CaseOf<SoftmaxArguments> {
 public:
  /// Makes operands with `seed` and copies them to the device. If the matrix has values they are x, the same for every
  /// element of the batch. `scale` is used unless the problem's is `one`. `in_place`: the output is the input.
  /// Statistics that the problem reads are correct. Errors: out_of_memory.
  SoftmaxCase(device::Device& device, const Softmax& problem, sparse::Csr matrix, std::uint64_t seed,
              float scale = 0.75F, bool in_place = false);

  /// Five operations for each entry: scale, maximum, exponential, sum, quotient.
  double flops() const override;
  std::vector<CaseOperand> operands() const override;
  Check verify(const std::function<void(Stream)>& enqueue) override;
  /// The output as last verified, in its type.
  std::vector<float> output() const { return output_.read().values; }

 private:
  void compare_statistics(Check& check) const;

  device::Device& device_;
  Softmax problem_;
  sparse::Csr matrix_;
  SampledRows sample_;
  std::vector<float> values_;
  sparse::SoftmaxReference reference_;
  std::vector<double> logarithms_;  ///< of the sampled rows
  DeviceOperand device_values_;
  DeviceOperand device_statistics_;
  DeviceOperand device_scale_;
  GuardedOutput output_;
  GuardedOutput statistics_;
  std::int64_t output_stride_ = 0;
  bool in_place_;
};

class SoftmaxBackwardCase final : public CaseOf<SoftmaxBackwardArguments> {
 public:
  /// As SoftmaxCase. y is the softmax of random entries, and dy the matrix's own values if it has any. `in_place`: dx
  /// is dy.
  SoftmaxBackwardCase(device::Device& device, const SoftmaxBackward& problem, sparse::Csr matrix, std::uint64_t seed,
                      float scale = 0.75F, bool in_place = false);

  /// Five operations for each entry: product and sum, difference, two factors.
  double flops() const override;
  std::vector<CaseOperand> operands() const override;
  Check verify(const std::function<void(Stream)>& enqueue) override;

 private:
  device::Device& device_;
  SoftmaxBackward problem_;
  sparse::Csr matrix_;
  SampledRows sample_;
  std::vector<float> gradients_;
  sparse::SoftmaxReference reference_;
  DeviceOperand device_probabilities_;
  DeviceOperand device_gradients_;
  DeviceOperand device_scale_;
  GuardedOutput output_;
  std::int64_t output_stride_ = 0;
  bool in_place_;
};

}  // namespace vostok::tune
