// One SpMM with random operands on a device: what the tuner, the tool and the benchmarks run and verify.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <vostok/problem.hpp>

#include "device/device.hpp"
#include "sparse/csr.hpp"
#include "tune/case.hpp"
#include "tune/guarded_output.hpp"
#include "tune/spmm_host.hpp"

namespace vostok::tune {

class SpmmCase final : public CaseOf<SpmmArguments> {
 public:
  /// Makes operands of the problem's sizes with `seed` and copies them to the device. `problem.n` must be set. `matrix`
  /// is A, even if the problem transposes it; its own values are used if it has any. `host_scale` is the factor if the
  /// epilogue's scale is `host` or `device`. Errors: out_of_memory.
  SpmmCase(device::Device& device, const Spmm& problem, sparse::Csr matrix, std::uint64_t seed,
           float host_scale = 0.75F);

  const void* values() const override { return values_.data(); }
  void set_packed(PackedReference packed) override {
    arguments_.values = nullptr;
    arguments_.packed = packed;
  }
  const void* launch_arguments() override;
  std::vector<CaseOperand> operands() const override;
  /// Operations: two for each multiply-add of the nonzeros.
  double flops() const override;
  Check verify(const std::function<void(Stream)>& enqueue) override;
  bool widen(bool wide) override;

 private:
  /// A part of the output that is compared: some columns of one product of the batch.
  struct Sample {
    std::int64_t product = 0;
    std::vector<std::int64_t> columns = {};
    std::vector<double> reference = {};  ///< [rows, columns]
  };

  void make_samples(std::uint64_t seed);
  /// Accepts any non-finite result in rows of A that are not finite.
  void accept_not_finite(std::vector<float>& found, const Sample& sample) const;
  Check compare(const GuardedOutput::Contents& contents) const;

  SpmmArguments launched_;
  device::Device& device_;
  SpmmHost host_;
  std::vector<Sample> samples_;
  device::Buffer values_;
  device::Buffer dense_;
  device::Buffer bias_;
  device::Buffer residual_;
  device::Buffer scale_;
  GuardedOutput output_;
};

}  // namespace vostok::tune
