// Runs a config of a family that reads packed strips on one device, below the planner: strips packed on the host or by the family's own
// launch, output and workspace poisoned.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "device/kernel_devices.hpp"
#include "ops/spmm/packed_operand.hpp"
#include "ops/spmm/problem.hpp"
#include "sparse/elements.hpp"
#include "sparse/packed_strips.hpp"
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

/// One product to check.
struct UnpackCase {
  UnpackCase(const sparse::Csr& csr, const Spmm& problem, std::uint64_t seed)
      : host(problem, csr, seed, -0.75F), form(sparse::packed_form(host.walked, host.value_positions)) {}

  tune::SpmmHost host;
  sparse::PackedForm form;
  std::optional<ops::SizeRange> sizes = {};  ///< that the choice serves; empty: the problem's n alone

  const Spmm& problem() const { return host.problem; }
  TopologyStatistics statistics() const {
    const sparse::Csr& a = host.walked;
    return sparse::statistics(a.rows, a.cols, a.row_offsets, a.column_indices);
  }
  ops::SpmmQuery query(const device::Device* device) const {
    return *ops::make_query(problem(), statistics(), sizes.value_or(ops::SizeRange{problem().n, problem().n}), device);
  }
};

/// The structure of packed strips in device memory, made on the host.
class DeviceForm {
 public:
  DeviceForm(device::Device& device, const sparse::PackedForm& form)
      : headers_(uploaded(device, form.headers)),
        pair_offsets_(uploaded(device, form.pair_offsets)),
        sources_(uploaded(device, form.sources)),
        one_word_(uploaded(device, form.unit_offsets(1))),
        two_words_(uploaded(device, form.unit_offsets(2))) {
    pointers_.packed = {.headers = headers_.as<unsigned>(),
                        .pair_offsets = pair_offsets_.as<unsigned>(),
                        .unit_offsets = {one_word_.as<unsigned>(), two_words_.as<unsigned>()},
                        .sources = sources_.as<int>(),
                        .row_strips = static_cast<unsigned>(form.row_strips),
                        .k_blocks = static_cast<unsigned>(form.k_blocks),
                        .pairs = form.pair_offsets.back(),
                        .units = {form.unit_offsets(1).back(), form.unit_offsets(2).back()}};
  }
  const ops::TopologyPointers& pointers() const { return pointers_; }

 private:
  device::Buffer headers_, pair_offsets_, sources_, one_word_, two_words_;
  ops::TopologyPointers pointers_;
};

/// Every set of a case's values, packed on the host and laid out as Plan::pack lays them out.
inline std::vector<std::byte> packed_sets(const UnpackCase& c, PackedMode mode, const ops::PackedLayout& layout) {
  const Spmm& problem = c.problem();
  const std::int64_t sets = problem.values_per_batch ? problem.batch : 1;
  std::vector<std::byte> all(static_cast<std::size_t>(sets * layout.set_bytes), std::byte{0xff});
  const auto nonzeros = static_cast<std::size_t>(c.host.walked.nonzeros());
  for (std::int64_t set = 0; set < sets; ++set) {
    const auto values = std::span<const float>(c.host.values).subspan(static_cast<std::size_t>(set * c.host.value_stride), nonzeros);
    const sparse::PackedMatrix packed = sparse::pack(c.form, mode, problem.element, sparse::to_storage(problem.element, values));
    std::byte* const at = all.data() + set * layout.set_bytes;
    const auto scales = std::as_bytes(std::span(packed.row_scales));
    const auto data = std::as_bytes(std::span(packed.data));
    std::copy(scales.begin(), scales.end(), at);
    std::copy(data.begin(), data.end(), at + layout.data_offset_bytes);
  }
  return all;
}

/// A case's operands on a device, and the launches of a config.
class UnpackRun {
 public:
  UnpackRun(device::Device& device, const ops::Family& family, const UnpackCase& c, const FieldMap& config)
      : device_(device),
        problem_(c.problem()),
        form_(device, c.form),
        values_(shifted(problem_.element, c.host.values)),
        dense_(shifted(problem_.element, c.host.dense)),
        bias_(shifted(Dtype::f32, c.host.bias)),
        residual_(shifted(*problem_.output, c.host.residual)),
        scale_(uploaded(device, std::vector<float>{c.host.scale})),
        initial_(c.host.output),
        output_(device, *problem_.output, c.host.output_shape, problem_.batch, shift(*problem_.output)) {
    const ops::SpmmQuery query = c.query(&device);
    const PackedMode mode = *ops::packed_mode(family.packed_format(query, config));
    if (problem_.value_lifetime == ValueLifetime::persistent)
      packed_ = uploaded(device, packed_sets(c, mode, ops::packed_layout(mode, form_.pointers().packed)));
    workspace_ = uploaded(device, std::vector<unsigned char>(static_cast<std::size_t>(family.workspace_bytes(query, config)), 0xff));
    launches_ = family.launches(query, config, form_.pointers());
    for (ops::Launch& launch : launches_) load_kernel(device, launch);
    call_ = {.values = start(problem_.element, values_),
             .packed = PackedReference(nullptr, packed_.data()),
             .dense = start(problem_.element, dense_),
             .output = output_.data(),
             .bias = start(Dtype::f32, bias_),
             .residual = start(*problem_.output, residual_),
             .scale = problem_.epilogue.scale == Scale::host ? c.host.scale : NAN,
             .device_scale = scale_.as<float>(),
             .workspace = workspace_.data(),
             .n = problem_.n};
    reset();
  }

  void* workspace() const { return call_.workspace; }
  void share_workspace(const UnpackRun& other) { call_.workspace = other.workspace(); }
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
  std::int64_t shift(Dtype type) const { return problem_.alignment_bytes < 16 ? std::max(problem_.alignment_bytes, size_of(type)) : 0; }
  device::Buffer shifted(Dtype type, const std::vector<float>& values) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(shift(type)));
    const std::vector<std::byte> stored = sparse::to_storage(type, values);
    bytes.insert(bytes.end(), stored.begin(), stored.end());
    return uploaded(device_, bytes);
  }
  const void* start(Dtype type, const device::Buffer& buffer) const { return buffer.as<char>() + shift(type); }

  device::Device& device_;
  Spmm problem_;
  DeviceForm form_;
  device::Buffer values_, dense_, bias_, residual_, scale_, packed_, workspace_;
  std::vector<float> initial_;
  tune::GuardedOutput output_;
  std::vector<ops::Launch> launches_;
  SpmmArguments call_;
};

/// C as the device computes it with this config.
inline std::vector<float> run_unpack(device::Device& device, const ops::Family& family, const UnpackCase& c, const FieldMap& config) {
  const UnpackRun run(device, family, c, config);
  run.enqueue();
  return run.output();
}

inline std::string described(const UnpackCase& c) {
  const sparse::Csr& a = c.host.walked;
  return fmt::format("{} x {}, {} nonzeros, n = {}, leading {} and {}, {}", a.rows, a.cols, a.nonzeros(), c.problem().n, c.host.dense_shape.leading,
                     c.host.output_shape.leading, ops::exact_key(c.problem()));
}

/// What an element may differ by for each unit of ||row of A|| ||column of B||, and of what the epilogue adds.
inline double element_tolerance(const Spmm& problem) {
  if (problem.element == Dtype::f32) return problem.math == Math::tf32 ? 0x1p-15 : 0x1p-19;
  return 0x1p-17;  // exact products, sums that tensor cores cut
}

/// Element by element against float64: an error is at most the promised share of the norms, and one rounding to C's type. Says how many
/// elements are wrong, and which is first.
inline void check_unpack(const NamedDevice& on, const ops::Family& family, const UnpackCase& c, const FieldMap& config) {
  INFO(on.name, ": ", described(c), "; ", to_text(config));
  const std::vector<float> output = run_unpack(*on.device, family, c, config);
  const Dtype type = *c.problem().output;
  const std::int64_t n = c.problem().n;
  const std::int64_t rows = c.host.walked.rows;
  std::vector<std::int64_t> columns(static_cast<std::size_t>(n));
  std::iota(columns.begin(), columns.end(), 0);
  // Products of magnitudes bound products of norms from below and the error's growth from above: the stricter measure.
  tune::SpmmHost magnitudes = c.host;
  magnitudes.problem.epilogue.activation = Activation::none;
  magnitudes.scale = std::fabs(c.host.scale);
  for (auto* operand : {&magnitudes.values, &magnitudes.dense, &magnitudes.bias, &magnitudes.residual, &magnitudes.output})
    for (float& value : *operand) value = std::fabs(value);
  for (std::int64_t product = 0; product < c.problem().batch; ++product) {
    const std::vector<double> reference = c.host.reference(product, columns);
    const std::vector<double> sizes = magnitudes.reference(product, columns);
    const std::vector<float> found = c.host.columns_of(output, product, columns);
    std::int64_t wrong = 0;
    std::string first;
    for (std::size_t i = 0; i < reference.size(); ++i) {
      // Activations are no steeper than 1.13; half the smallest number of a type is no difference.
      const double allowed = 1.2 * element_tolerance(c.problem()) * sizes[i] + sparse::unit_roundoff(type) * std::fabs(reference[i]) * 1.01 +
                             sparse::smallest_value(type);
      if (std::fabs(static_cast<double>(found[i]) - reference[i]) <= allowed) continue;
      if (wrong++ == 0)
        first = fmt::format("product {}, row {}, column {}: {} where {} is right (sum of magnitudes {})", product, static_cast<std::int64_t>(i) / n,
                            static_cast<std::int64_t>(i) % n, found[i], reference[i], sizes[i]);
    }
    CHECK_MESSAGE(wrong == 0, wrong, " of ", rows * n, " elements are wrong; first ", first);
  }
}

}  // namespace vostok::test
