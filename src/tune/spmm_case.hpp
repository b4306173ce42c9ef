// One SpMM with random operands on a device: what the tuner, the tool and the benchmarks run and verify.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <vostok/problem.hpp>

#include "device/device.hpp"
#include "sparse/csr.hpp"
#include "tune/case.hpp"
#include "tune/fill.hpp"

namespace vostok::tune {

class SpmmCase final : public CaseOf<SpmmArguments> {
 public:
  /// Makes operands of the problem's sizes with `seed` and copies them to the device. `problem.n` must be set.
  /// The matrix's own values are used where it has them. `host_scale` is passed where the
  /// epilogue's scale is `host`. Errors: out_of_memory.
  SpmmCase(device::Device& device, const Spmm& problem, sparse::Csr matrix, std::uint64_t seed, float host_scale = 0.75F);

  /// Multiply-adds of the nonzeros, twice counted.
  double flops() const override;
  Check verify(const std::function<void(Stream)>& enqueue) override;

 private:
  void make_reference(const float* dense);
  Check compare(const std::vector<float>& guarded) const;

  device::Device& device_;
  Spmm problem_;
  sparse::Csr matrix_;
  std::int64_t dense_leading_;
  std::int64_t output_leading_;
  std::uint64_t seed_;
  std::vector<float> values_;
  std::vector<float> bias_;
  std::vector<std::int64_t> columns_;  ///< columns of the output that are compared
  std::vector<double> reference_;      ///< [rows, columns_]
  device::Buffer device_values_;
  device::Buffer device_dense_;
  device::Buffer device_bias_;
  device::Buffer device_output_;  ///< with a guard band before and behind
};

}  // namespace vostok::tune
