// One SDDMM with random operands on a device: what the tuner, the tool, the benchmarks and the tests run and verify.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <vostok/sddmm.hpp>

#include "device/device.hpp"
#include "ops/sddmm/problem.hpp"
#include "sparse/csr.hpp"
#include "tune/case.hpp"
#include "tune/device_operand.hpp"
#include "tune/guarded_output.hpp"

namespace vostok::tune {

class SddmmCase final : public CaseOf<SddmmArguments> {
 public:
  /// Makes operands of the problem's sizes with `seed` and copies them to the device, each aligned no better than the
  /// problem declares. Gaps between the rows of A and B, and between their matrices, are NaN. Errors: those of
  /// validate, out_of_memory.
  SddmmCase(device::Device& device, const Sddmm& problem, sparse::Csr mask, std::uint64_t seed, float scale = 0.75F);

  /// Operations: two for each multiply-add of the nonzeros.
  double flops() const override;
  std::vector<CaseOperand> operands() const override;
  Check verify(const std::function<void(Stream)>& enqueue) override;
  bool widen(bool wide) override;

  const ops::SddmmQuery& query() const { return *query_; }
  /// The output as the last verify read it: [batch, nonzeros], output_stride apart.
  const std::vector<float>& output() const { return output_; }

 private:
  /// Values rounded to their type, on the host and on the device.
  struct Operand {
    std::vector<float> values;
    DeviceOperand copy;
  };
  Operand upload(Dtype type, std::vector<float> values) const;
  /// A batch of dense matrices, NaN between lines and matrices.
  Operand make_dense(const ops::StoredMatrix& stored, std::uint64_t seed) const;
  Operand make_values(Dtype type, std::int64_t count, std::uint64_t seed) const;
  void make_reference(std::uint64_t seed);

  device::Device& device_;
  sparse::Csr mask_;
  std::shared_ptr<const ops::SddmmQuery> query_;
  Operand lhs_;
  Operand rhs_;
  Operand multiplier_;
  Operand device_scale_;
  GuardedOutput guarded_;
  std::vector<float> initial_;  ///< the output before the call, in its layout; empty unless the problem accumulates
  std::vector<std::int64_t> entries_;  ///< the entries that are compared
  std::vector<double> reference_;      ///< [batch, entries_]
  std::vector<float> output_;
};

}  // namespace vostok::tune
