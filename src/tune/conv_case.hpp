// The convolution side's operations with random operands on a device.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <vostok/convolution.hpp>

#include "device/device.hpp"
#include "tune/case.hpp"
#include "tune/device_operand.hpp"
#include "tune/guarded_output.hpp"

namespace vostok::tune {

/// Base of the cases below: one dense output, compared as a whole.
template <class Call>
class DenseCase : public CaseOf<Call> {
 public:
  double flops() const override { return flops_; }
  Check verify(const std::function<void(Stream)>& enqueue) override;
  /// The output as last verified.
  std::vector<float> output() const { return output_.read().values; }

 protected:
  /// Sets the expected output, of `reference.size()` elements. `in_place`: its content before the call. `tolerance` 0:
  /// the output must be exact.
  void expect(device::Device& device, Dtype type, int alignment_bytes, std::vector<double> reference, double tolerance,
              std::vector<float> in_place = {});
  void* output_data() const { return output_.data(); }
  std::int64_t output_bytes() const { return output_.bytes(); }

  double flops_ = 0;

 private:
  device::Device* device_ = nullptr;
  Dtype type_ = Dtype::f32;
  GuardedOutput output_;
  std::vector<float> before_;
  std::vector<double> reference_;
  double tolerance_ = 0;
};

class DepthwiseCase final : public DenseCase<DepthwiseArguments> {
 public:
  /// `input` replaces the random pixels, [batch, channels, height, width]. Errors: out_of_memory.
  DepthwiseCase(device::Device& device, const DepthwiseConvolution& problem, std::uint64_t seed,
                std::vector<float> input = {});
  std::vector<CaseOperand> operands() const override;

 private:
  DeviceOperand input_;
  DeviceOperand filters_;
  DeviceOperand bias_;
};

class BiasActivationCase final : public DenseCase<BiasActivationArguments> {
 public:
  /// `in_place`: the output is the input. Errors: out_of_memory.
  BiasActivationCase(device::Device& device, const BiasActivation& problem, std::uint64_t seed, bool in_place = false);
  std::vector<CaseOperand> operands() const override;

 private:
  DeviceOperand input_;
  DeviceOperand bias_;
};

class Im2colCase final : public DenseCase<Im2colArguments> {
 public:
  /// Errors: out_of_memory.
  Im2colCase(device::Device& device, const Im2col& problem, std::uint64_t seed);
  std::vector<CaseOperand> operands() const override;

 private:
  DeviceOperand input_;
};

}  // namespace vostok::tune
