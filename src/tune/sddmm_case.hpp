// One SDDMM with random operands on a device: what the tuner, the tool, the benchmarks and the tests run and verify.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <vostok/sddmm.hpp>

#include "device/device.hpp"
#include "ops/sddmm/problem.hpp"
#include "sparse/csr.hpp"
#include "tune/case.hpp"

namespace vostok::tune {

class SddmmCase final : public CaseOf<SddmmArguments> {
 public:
  /// Makes operands of the problem's sizes with `seed` and copies them to the device, each with no more than the alignment that
  /// the problem declares. What lies between the rows of A and B, and between their matrices, is NaN. Errors: those of
  /// validate, out_of_memory.
  SddmmCase(device::Device& device, const Sddmm& problem, sparse::Csr mask, std::uint64_t seed, float scale = 0.75F);

  /// Multiply-adds of the nonzeros, twice counted.
  double flops() const override;
  Check verify(const std::function<void(Stream)>& enqueue) override;

  const ops::SddmmQuery& query() const { return *query_; }
  /// What the output holds since the last verify: [batch, nonzeros], without what lies between.
  const std::vector<float>& output() const { return output_; }

 private:
  /// Values on the host, rounded to the type, and on the device.
  struct Operand {
    std::vector<float> values;
    device::Buffer buffer;
    void* data = nullptr;
  };
  /// A dense operand without its padding's values, which are NaN.
  Operand make_dense(const ops::StoredMatrix& stored, std::uint64_t seed) const;
  Operand make_vector(Dtype type, std::int64_t count, std::uint64_t seed) const;
  Operand upload(Dtype type, std::vector<float> values) const;
  void make_initial_output(std::uint64_t seed);
  void make_reference(std::uint64_t seed);
  std::int64_t output_at(std::int64_t matrix, std::int64_t entry) const;  ///< as an element behind the first guard
  std::string find_stray_write(const std::vector<std::byte>& memory) const;

  device::Device& device_;
  sparse::Csr mask_;
  std::shared_ptr<const ops::SddmmQuery> query_;
  Operand lhs_;
  Operand rhs_;
  Operand multiplier_;
  Operand device_scale_;
  std::vector<std::byte> initial_;     ///< of the output's memory, guards included
  std::vector<float> accumulated_;     ///< what the output holds before, [batch, nonzeros], where it accumulates
  std::vector<std::int64_t> entries_;  ///< those that are compared
  std::vector<double> reference_;      ///< [batch, entries_]
  std::vector<float> output_;
  device::Buffer device_output_;
};

}  // namespace vostok::tune
