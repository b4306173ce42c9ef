// Runs a config of a family that reads packed values on one device, below the planner, and checks C element by element.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "device/kernel_devices.hpp"
#include "ops/spmm/problem.hpp"
#include "sparse/elements.hpp"
#include "sparse/reference.hpp"
#include "tune/guarded_output.hpp"
#include "tune/spmm_host.hpp"

namespace vostok::test {

template <class T>
device::Buffer uploaded(device::Device& device, const std::vector<T>& values) {
  device::Buffer buffer(device, static_cast<std::int64_t>(values.size() * sizeof(T)));
  if (!values.empty()) device.copy_to_device(buffer.data(), values.data(), buffer.bytes());
  return buffer;
}

/// A case's operands on a device, and the launches of a config of a family that reads packed values: output and
/// workspace poisoned.
class PackedRun {
 public:
  /// `form`: the topology's part of the format. `packed`: every set of values; not read where calls pack them.
  PackedRun(device::Device& device, const ops::Family& family, const tune::SpmmHost& host, const ops::SpmmQuery& query,
            const ops::Config& config, const ops::TopologyPointers& form, const std::vector<std::byte>& packed)
      : device_(device),
        problem_(host.problem),
        values_(shifted(problem_.element, host.values)),
        dense_(shifted(problem_.element, host.dense)),
        bias_(shifted(host.bias_type(), host.bias)),
        residual_(shifted(*problem_.output, host.residual)),
        scale_(uploaded(device, std::vector<float>{host.scale})),
        initial_(host.output),
        output_(device, *problem_.output, host.output_shape, problem_.batch, shift(*problem_.output)) {
    if (problem_.value_lifetime == ValueLifetime::persistent) packed_ = uploaded(device, packed);
    workspace_ = uploaded(
        device, std::vector<unsigned char>(static_cast<std::size_t>(family.workspace_bytes(query, config)), 0xff));
    launches_ = family.launches(query, config, form);
    for (ops::Launch& launch : launches_) load_kernel(device, launch);
    call_ = {.values = start(problem_.element, values_),
             .packed = PackedReference(nullptr, packed_.data()),
             .dense = start(problem_.element, dense_),
             .output = output_.data(),
             .bias = start(host.bias_type(), bias_),
             .residual = start(*problem_.output, residual_),
             .scale = problem_.epilogue.scale == Scale::host ? host.scale : NAN,
             .device_scale = scale_.as<float>(),
             .workspace = workspace_.data(),
             .n = problem_.n};
    reset();
  }

  void* workspace() const { return call_.workspace; }
  void share_workspace(const PackedRun& other) { call_.workspace = other.workspace(); }
  void reset() const { output_.reset(device_.own_stream(), initial_); }
  void enqueue() const {
    for (const ops::Launch& launch : launches_) launch.enqueue(device_, device_.own_stream(), &call_);
  }
  /// C, laid out as it is stored. Fails the test where anything but C was written.
  std::vector<float> output() const {
    device_.synchronize(device_.own_stream());
    const tune::GuardedOutput::Contents contents = output_.read();
    if (!contents.wrong.empty()) FAIL_CHECK(contents.wrong);
    return contents.values;
  }

 private:
  /// No pointer is aligned to more than was declared, nor to less than its elements.
  std::int64_t shift(Dtype type) const {
    return problem_.alignment_bytes < 16 ? std::max(problem_.alignment_bytes, size_of(type)) : 0;
  }
  device::Buffer shifted(Dtype type, const std::vector<float>& values) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(shift(type)));
    const std::vector<std::byte> stored = sparse::to_storage(type, values);
    bytes.insert(bytes.end(), stored.begin(), stored.end());
    return uploaded(device_, bytes);
  }
  const void* start(Dtype type, const device::Buffer& buffer) const { return buffer.as<char>() + shift(type); }

  device::Device& device_;
  Spmm problem_;
  device::Buffer values_, dense_, bias_, residual_, scale_, packed_, workspace_;
  std::vector<float> initial_;
  tune::GuardedOutput output_;
  std::vector<ops::Launch> launches_;
  SpmmArguments call_;
};

inline std::string described(const tune::SpmmHost& host) {
  const sparse::Csr& a = host.walked;
  return fmt::format("{} x {}, {} nonzeros, n = {}, leading {} and {}, {}", a.rows, a.cols, a.nonzeros(),
                     host.problem.n, host.dense_shape.leading, host.output_shape.leading, ops::exact_key(host.problem));
}

/// What an element may differ by for each unit of ||row of A|| ||column of B||, and of what the epilogue adds.
inline double element_tolerance(const Spmm& problem) {
  if (problem.element == Dtype::f32) return problem.math == Math::tf32 ? 0x1p-15 : 0x1p-19;
  return 0x1p-17;  // exact products, sums that tensor cores cut
}

/// Element by element against float64: an error is at most `tolerance` of the norms, and one rounding to C's type. Says
/// how many elements are wrong, and which is first.
inline void check_output(const tune::SpmmHost& host, const std::vector<float>& output, double tolerance) {
  const Dtype type = *host.problem.output;
  const std::int64_t n = host.problem.n;
  const std::int64_t rows = host.walked.rows;
  std::vector<std::int64_t> columns(static_cast<std::size_t>(n));
  std::iota(columns.begin(), columns.end(), 0);
  // Products of magnitudes bound products of norms from below and the error's growth from above: the stricter measure.
  tune::SpmmHost magnitudes = host;
  magnitudes.problem.epilogue.activation = Activation::none;
  magnitudes.scale = std::fabs(host.scale);
  for (auto* operand :
       {&magnitudes.values, &magnitudes.dense, &magnitudes.bias, &magnitudes.residual, &magnitudes.output})
    for (float& value : *operand) value = std::fabs(value);
  for (std::int64_t product = 0; product < host.problem.batch; ++product) {
    const std::vector<double> reference = host.reference(product, columns);
    const std::vector<double> sizes = magnitudes.reference(product, columns);
    const std::vector<float> found = host.columns_of(output, product, columns);
    std::int64_t wrong = 0;
    std::string first;
    for (std::size_t i = 0; i < reference.size(); ++i) {
      // Activations are no steeper than 1.13; half the smallest number of a type is no difference.
      const double allowed = 1.2 * tolerance * sizes[i] + sparse::unit_roundoff(type) * std::fabs(reference[i]) * 1.01 +
                             sparse::smallest_value(type);
      if (std::fabs(static_cast<double>(found[i]) - reference[i]) <= allowed) continue;
      if (std::isnan(found[i]) && std::isnan(reference[i])) continue;
      if (wrong++ == 0)
        first = fmt::format("product {}, row {}, column {}: {} where {} is right (sum of magnitudes {})", product,
                            static_cast<std::int64_t>(i) / n, static_cast<std::int64_t>(i) % n, found[i], reference[i],
                            sizes[i]);
    }
    CHECK_MESSAGE(wrong == 0, wrong, " of ", rows * n, " elements are wrong; first ", first);
  }
}

}  // namespace vostok::test
