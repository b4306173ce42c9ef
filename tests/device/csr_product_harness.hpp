// Runs a config of an SpMM family that reads A as CSR, on one device: operands at guarded ends of their allocations,
// output and workspace poisoned.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "codegen/fields.hpp"
#include "device/kernel_devices.hpp"
#include "device/uneven_mask.hpp"
#include "ops/spmm/problem.hpp"
#include "sparse/chunks.hpp"
#include "sparse/elements.hpp"
#include "sparse/generate.hpp"
#include "sparse/panels.hpp"
#include "sparse/reference.hpp"
#include "sparse/row_order.hpp"
#include "sparse/row_slots.hpp"
#include "tune/guarded_output.hpp"
#include "tune/spmm_host.hpp"

namespace vostok::test {

/// One product to check.
struct SpmmProduct {
  tune::SpmmHost host;
  bool widen_offsets = false;   ///< compile as if B were larger than 2^31 bytes
  bool widen_nonzeros = false;  ///< compile as if A had more than 2^31 nonzeros

  const Spmm& problem() const { return host.problem; }
  std::int64_t n() const { return problem().n; }
  TopologyStatistics statistics() const {
    const sparse::Csr& a = host.walked;
    return sparse::statistics(a.rows, a.cols, a.row_offsets, a.column_indices);
  }
  ops::SpmmQuery query(const device::Device* device) const {
    return *ops::make_query(problem(), statistics(), {n(), n()}, device);
  }
};

inline SpmmProduct make_product(sparse::Csr csr, const Spmm& problem, std::uint64_t seed) {
  return {.host = tune::SpmmHost(problem, std::move(csr), seed, -0.75F)};
}

/// A copy in device memory whose first element has exactly the alignment given.
class Operand {
 public:
  Operand(device::Device& device, std::span<const std::byte> bytes, int alignment_bytes)
      : shift_(alignment_bytes < 16 ? alignment_bytes : 0),
        buffer_(device, static_cast<std::int64_t>(bytes.size()) + shift_) {
    if (!bytes.empty()) device.copy_to_device(data(), bytes.data(), static_cast<std::int64_t>(bytes.size()));
  }
  /// Column indices, in 16 bits where they are `narrow`.
  Operand(device::Device& device, bool narrow, const std::vector<std::int32_t>& columns)
      : Operand(narrow ? Operand(device, std::vector<std::uint16_t>(columns.begin(), columns.end()))
                       : Operand(device, columns)) {}
  template <class T>
  Operand(device::Device& device, const std::vector<T>& values)
      : Operand(device, std::as_bytes(std::span(values)), 16) {}
  Operand(device::Device& device, Dtype type, const std::vector<float>& values, int alignment_bytes)
      : Operand(device, sparse::to_storage(type, values), std::max(alignment_bytes, size_of(type))) {}
  void* data() const { return buffer_.as<char>() + shift_; }

 private:
  std::int64_t shift_;
  device::Buffer buffer_;
};

/// The topology's forms as kernels read them.
class DeviceTopology {
 public:
  DeviceTopology(device::Device& device, const SpmmProduct& c, const ops::TopologyNeeds& needs)
      : chunk_table_(needs.chunk_items > 0 ? sparse::chunk_starts(c.host.walked.row_offsets, needs.chunk_items)
                                           : std::vector<ChunkStart>()),
        narrow_offsets_(device, c.widen_nonzeros ? std::vector<std::int32_t>()
                                                 : converted<std::int32_t>(c.host.walked.row_offsets)),
        wide_offsets_(device, c.host.walked.row_offsets),
        columns_(device, needs.index == IndexType::u16, c.host.walked.column_indices),
        order_(device, sparse::row_order(c.host.walked.row_offsets)),
        positions_(device, c.host.value_positions),
        chunks_(device, chunk_table_),
        panel_starts_(device, needs.panel_rows > 0 ? sparse::panel_starts(c.host.walked, needs.panel_rows)
                                                   : std::vector<std::int32_t>()),
        slots_(needs.slots.entries > 0 ? sparse::row_slots(c.host.walked, needs.slots) : sparse::HostRowSlots()),
        slot_records_(device, slots_.records),
        slot_columns_(device, needs.index == IndexType::u16, slots_.columns) {
    CHECK(needs.transposed == c.problem().sparse_transposed);
    pointers = {.row_offsets = c.widen_nonzeros ? wide_offsets_.data() : narrow_offsets_.data(),
                .column_indices = columns_.data(),
                .row_order = needs.row_order ? static_cast<const std::int32_t*>(order_.data()) : nullptr,
                .value_positions = needs.transposed ? static_cast<const std::int32_t*>(positions_.data()) : nullptr};
    if (needs.panel_rows > 0) pointers.panel_starts = static_cast<const std::int32_t*>(panel_starts_.data());
    if (needs.slots.entries > 0)
      pointers.slots = {.records = static_cast<const RowRecord*>(slot_records_.data()),
                        .columns = slot_columns_.data(),
                        .count = static_cast<unsigned>(slots_.records.size())};
    if (needs.chunk_items == 0) return;
    pointers.chunks = static_cast<const ChunkStart*>(chunks_.data());
    pointers.chunk_count = static_cast<std::int64_t>(chunk_table_.size()) - 1;
  }
  ops::TopologyPointers pointers;

 private:
  template <class T, class From>
  static std::vector<T> converted(const std::vector<From>& from) {
    return {from.begin(), from.end()};
  }
  std::vector<ChunkStart> chunk_table_;
  Operand narrow_offsets_, wide_offsets_, columns_, order_, positions_, chunks_, panel_starts_;
  sparse::HostRowSlots slots_;
  Operand slot_records_, slot_columns_;
};

/// Loads the kernel of `request`; the emulators of the tests share what is compiled.
inline std::shared_ptr<const device::Kernel> compiled(device::Device& device, const codegen::KernelRequest& request,
                                                      std::int64_t shared_bytes) {
  static std::map<std::string, device::Image> images;
  const std::string key = device.architecture() + request.expression;
  auto found = images.find(key);
  if (found == images.end())
    found = images.emplace(key, device.compiler().compile(codegen::make_source(request, device.architecture()))).first;
  return device.load(found->second, shared_bytes);
}

/// C as the device computes it with this config, laid out as it is stored; poison between lines. Fails the test where
/// anything but C was written.
inline std::vector<float> run_product(const ops::Family& family, device::Device& device, const SpmmProduct& c,
                                      const ops::Config& config) {
  const tune::SpmmHost& host = c.host;
  const ops::SpmmQuery query = c.query(&device);
  const DeviceTopology topology(device, c, family.needs(query, config));
  std::vector<ops::Launch> launches = family.launches(query, config, topology.pointers);
  ops::SpmmQuery compiled_query = query;
  if (c.widen_offsets) compiled_query.statistics.cols = std::int64_t{1} << 30;
  if (c.widen_nonzeros) compiled_query.statistics.nonzeros = std::int64_t{1} << 31;
  const std::vector<ops::Launch> widened = family.launches(compiled_query, config, {});
  REQUIRE(widened.size() == launches.size());

  const int alignment = c.problem().alignment_bytes;
  const Dtype element = c.problem().element;
  const Dtype output_type = *c.problem().output;
  const Operand values(device, element, host.values, alignment), dense(device, element, host.dense, alignment);
  const Operand bias(device, host.bias_type(), host.bias, alignment),
      residual(device, output_type, host.residual, alignment);
  const Operand scale(device, Dtype::f32, {host.scale}, 4);
  const std::vector<unsigned char> poison(static_cast<std::size_t>(family.workspace_bytes(query, config)), 0xff);
  const Operand workspace(device, poison);
  tune::GuardedOutput output(device, output_type, host.output_shape, c.problem().batch,
                             alignment < 16 ? std::max(alignment, size_of(output_type)) : 0);
  output.reset(device.own_stream(), host.output);

  const SpmmArguments call{.values = values.data(),
                           .dense = dense.data(),
                           .output = output.data(),
                           .bias = bias.data(),
                           .residual = residual.data(),
                           .scale = c.problem().epilogue.scale == Scale::host ? host.scale : NAN,
                           .device_scale = static_cast<const float*>(scale.data()),
                           .workspace = workspace.data(),
                           .n = c.n()};
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const ops::Launch& launch = launches[i];
    const ops::Launch& code = launch.request().family == family.name() ? widened[i] : launch;
    alignas(16) unsigned char arguments[ops::max_argument_bytes];
    device::LaunchShape shape = launch.bind(&call, arguments);
    shape.shared_bytes = code.shared_bytes();
    if (shape.grid.x == 0) continue;
    device.launch(device.own_stream(), *compiled(device, code.request(), code.shared_bytes()), shape, arguments,
                  launch.argument_bytes());
  }
  device.synchronize(device.own_stream());
  const tune::GuardedOutput::Contents contents = output.read();
  if (!contents.wrong.empty()) FAIL(contents.wrong);
  return contents.values;
}

inline std::string described(const SpmmProduct& c) {
  const sparse::Csr& a = c.host.walked;
  return fmt::format("{} x {}, {} nonzeros, n = {}, leading {} and {}, {}", a.rows, a.cols, a.nonzeros(), c.n(),
                     c.host.dense_shape.leading, c.host.output_shape.leading, ops::exact_key(c.problem()));
}

/// The norm that the product would have if its terms had random signs: what rounding errors are compared with where few
/// elements happen to cancel.
inline double typical_norm(const SpmmProduct& c, std::int64_t product, std::span<const std::int64_t> columns) {
  tune::SpmmHost magnitudes = c.host;
  magnitudes.problem.epilogue.activation = Activation::none;
  magnitudes.scale = std::fabs(c.host.scale);
  for (auto* operand :
       {&magnitudes.values, &magnitudes.dense, &magnitudes.bias, &magnitudes.residual, &magnitudes.output})
    for (float& value : *operand) value = std::isfinite(value) ? std::fabs(value) : 0;
  double squares = 0;
  for (const double sum : magnitudes.reference(product, columns)) squares += sum * sum;
  return std::sqrt(squares / static_cast<double>(std::max<std::int64_t>(c.statistics().longest_row, 1)));
}

/// Runs and compares every product of the batch with float64.
inline void check_product(const ops::Family& family, const NamedDevice& on, const SpmmProduct& c,
                          const ops::Config& config) {
  INFO(on.name, ": ", family.name(), ", ", described(c), "; ", to_text(config.to_map()));
  const std::vector<float> output = run_product(family, *on.device, c, config);
  const Dtype type = *c.problem().output;
  const double tolerance = sparse::sum_tolerance(c.statistics().longest_row, type);
  std::vector<std::int64_t> columns(static_cast<std::size_t>(c.n()));
  std::iota(columns.begin(), columns.end(), 0);
  for (std::int64_t product = 0; product < c.problem().batch; ++product) {
    const std::vector<double> reference = c.host.reference(product, columns);
    const std::vector<float> found = c.host.columns_of(output, product, columns);
    const double error = sparse::relative_error(found, c.n(), reference, c.host.walked.rows, c.n(), type);
    if (error <= tolerance || !std::isfinite(error)) {
      CHECK(error <= tolerance);
      continue;
    }
    const double squares = std::inner_product(reference.begin(), reference.end(), reference.begin(), 0.0);
    CHECK(error * (squares > 0 ? std::sqrt(squares) : 1) <= tolerance * typical_norm(c, product, columns));
  }
}

}  // namespace vostok::test
