// Runs one row_tile config on one device: operands at guarded ends of their allocations, output poisoned and fenced.
#pragma once

#include <doctest/doctest.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "codegen/fields.hpp"
#include "codegen/source.hpp"
#include "device/device.hpp"
#include "device/emulator/emulator.hpp"
#include "ops/spmm/family.hpp"
#include "ops/spmm/problem.hpp"
#include "ops/spmm/row_tile.hpp"
#include "sparse/generate.hpp"
#include "sparse/reference.hpp"
#include "sparse/row_order.hpp"

namespace vostok::test {

struct NamedDevice {
  std::string name;
  std::shared_ptr<device::Device> device;
};

/// ThreadSanitizer takes a thousand times as long for a kernel: there one thread order, and fewer cases, have to do.
#ifdef VOSTOK_THREAD_SANITIZER
inline constexpr bool thread_sanitized = true;
#else
inline constexpr bool thread_sanitized = false;
#endif

/// The emulator in several thread orders and with guard pages at either end, and every GPU.
inline const std::vector<NamedDevice>& row_tile_devices() {
  static const std::vector<NamedDevice> devices = [] {
    using namespace device::emulator;
    std::vector<NamedDevice> list;
    list.push_back({"emulator, seeded order", open_emulator({}, Settings{.order = {.kind = Order::Kind::seeded, .seed = 5}, .guard = Guard::end})});
    if (thread_sanitized) return list;
    list.push_back({"emulator, forward order", open_emulator({}, Settings{.order = {.kind = Order::Kind::forward}, .guard = Guard::start})});
    list.push_back({"emulator, reverse order", open_emulator({}, Settings{.order = {.kind = Order::Kind::reverse}, .guard = Guard::end})});
    std::string why;
    const int count = device::count_cuda(&why);
    for (int i = 0; i < count; ++i) list.push_back({"cuda:" + std::to_string(i), device::open_cuda(i, {})});
    if (count == 0) std::printf("GPU part skipped: %s\n", why.c_str());
    return list;
  }();
  return devices;
}

/// One product to check.
struct RowTileCase {
  sparse::Csr csr;
  Spmm problem;  ///< n set; leading dimensions 0 for packed
  std::vector<float> values;
  std::vector<float> dense;  ///< [cols, leading]
  std::vector<float> bias = {};
  float scale = 1.0F;
  bool widen_offsets = false;  ///< compile as if B were larger than 2^31 bytes

  std::int64_t n() const { return problem.n; }
  std::int64_t dense_leading() const { return problem.dense_leading != 0 ? problem.dense_leading : problem.n; }
  std::int64_t output_leading() const { return problem.output_leading != 0 ? problem.output_leading : problem.n; }
  TopologyStatistics statistics() const { return sparse::statistics(csr.rows, csr.cols, csr.row_offsets, csr.column_indices); }
  ops::SpmmQuery query(const device::Device& device) const {
    return {.problem = ops::resolve(problem, problem.n), .statistics = statistics(), .n = {problem.n, problem.n}, .device = &device};
  }
};

/// Random operands for `csr`; what lies between n and the leading dimension is NaN, so that it must not be used.
inline RowTileCase make_case(sparse::Csr csr, Spmm problem, std::uint64_t seed) {
  RowTileCase c{.csr = std::move(csr), .problem = problem, .values = {}, .dense = {}};
  c.values = sparse::normal_values(c.csr.nonzeros(), seed);
  c.dense = sparse::normal_values(c.csr.cols * c.dense_leading(), seed + 1);
  for (std::int64_t k = 0; k < c.csr.cols; ++k)
    for (std::int64_t j = c.n(); j < c.dense_leading(); ++j) c.dense[static_cast<std::size_t>(k * c.dense_leading() + j)] = NAN;
  const Bias bias = problem.epilogue.bias;
  if (bias != Bias::none) c.bias = sparse::normal_values(bias == Bias::per_row ? c.csr.rows : c.n(), seed + 2);
  if (problem.epilogue.scale == Scale::host) c.scale = -0.75F;
  return c;
}

/// A copy in device memory whose first element has exactly the alignment given.
class Operand {
 public:
  template <class T>
  Operand(device::Device& device, const std::vector<T>& values, int alignment_bytes)
      : shift_(alignment_bytes < 16 ? alignment_bytes : 0), buffer_(device, static_cast<std::int64_t>(values.size() * sizeof(T)) + shift_) {
    if (!values.empty()) device.copy_to_device(data(), values.data(), static_cast<std::int64_t>(values.size() * sizeof(T)));
  }
  void* data() const { return buffer_.as<char>() + shift_; }

 private:
  std::int64_t shift_;
  device::Buffer buffer_;
};

/// The output, [rows, leading], between two fences of poison. Everything starts as 0xff bytes: NaN.
class FencedOutput {
 public:
  FencedOutput(device::Device& device, const RowTileCase& c) : device_(device), count_(c.csr.rows * c.output_leading()), buffer_(device, bytes()) {
    const std::vector<unsigned char> poison(static_cast<std::size_t>(bytes()), 0xff);
    device.copy_to_device(buffer_.data(), poison.data(), bytes());
    shift_ = c.problem.alignment_bytes < 16 ? c.problem.alignment_bytes / 4 : 0;
  }
  float* data() const { return buffer_.as<float>() + fence + shift_; }

  /// The output; fails the test where anything but the n columns of each row was written.
  std::vector<float> read(const RowTileCase& c) const {
    std::vector<float> all(static_cast<std::size_t>(bytes() / 4));
    device_.copy_to_host(all.data(), buffer_.data(), bytes());
    for (std::int64_t i = 0; i < bytes() / 4; ++i) {
      const std::int64_t at = i - fence - shift_;
      const bool inside = at >= 0 && at < count_ && at % c.output_leading() < c.n();
      if (!inside && !is_poison(all[static_cast<std::size_t>(i)])) {
        FAIL("an element outside the output was written, at offset " << at << " of " << count_);
      }
    }
    return {all.begin() + fence + shift_, all.begin() + fence + shift_ + count_};
  }

 private:
  static constexpr std::int64_t fence = 64;
  static bool is_poison(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits == 0xffffffffU;
  }
  std::int64_t bytes() const { return (count_ + 2 * fence + 4) * 4; }

  device::Device& device_;
  std::int64_t count_;
  std::int64_t shift_ = 0;
  device::Buffer buffer_;
};

/// B up to its last element: behind the last row there is no padding.
inline std::vector<float> tight_dense(const RowTileCase& c) {
  std::vector<float> dense = c.dense;
  if (c.csr.cols > 0) dense.resize(static_cast<std::size_t>((c.csr.cols - 1) * c.dense_leading() + c.n()));
  return dense;
}

/// C as the device computes it with this config: [rows, output_leading], poison between n and the leading dimension.
inline std::vector<float> run_row_tile(device::Device& device, const RowTileCase& c, const FieldMap& config) {
  const ops::SpmmFamily& family = *ops::find_spmm_family("row_tile");
  const ops::SpmmQuery query = c.query(device);
  ops::SpmmQuery compiled_query = query;
  if (c.widen_offsets) compiled_query.problem.dense_leading = ((std::int64_t{1} << 31) / c.csr.cols + 16) / 4 * 4;
  ops::SpmmLaunch launch = family.launch(compiled_query, config);
  launch.kernel = device.load(device.compiler().compile(codegen::make_source(family.kernel(compiled_query, config), device.architecture())),
                              launch.shape.shared_bytes);
  launch.dense_leading = query.problem.dense_leading;

  const std::vector<std::int32_t> offsets(c.csr.row_offsets.begin(), c.csr.row_offsets.end());
  const std::vector<std::int32_t> order = sparse::row_order(c.csr.row_offsets);
  const int alignment = c.problem.alignment_bytes;
  const Operand device_offsets(device, offsets, 16), device_columns(device, c.csr.column_indices, 16), device_order(device, order, 16);
  const Operand values(device, c.values, alignment), dense(device, tight_dense(c), alignment), bias(device, c.bias, alignment);
  FencedOutput output(device, c);
  launch.topology = {.row_offsets = static_cast<const std::int32_t*>(device_offsets.data()),
                     .column_indices = static_cast<const std::int32_t*>(device_columns.data()),
                     .row_order = family.needs_row_order(config) ? static_cast<const std::int32_t*>(device_order.data()) : nullptr};

  alignas(16) unsigned char arguments[ops::max_argument_bytes];
  device::LaunchShape shape = launch.shape;
  const SpmmArguments user{.values = values.data(), .dense = dense.data(), .output = output.data(), .bias = bias.data(), .scale = c.scale};
  shape.grid = launch.bind(launch, user, c.n(), arguments);
  device.launch(device.own_stream(), *launch.kernel, shape, arguments, launch.argument_bytes);
  device.synchronize(device.own_stream());
  return output.read(c);
}

inline std::vector<double> reference_of(const RowTileCase& c) {
  std::vector<double> product = sparse::spmm(c.csr, c.values, c.dense, c.n(), c.dense_leading());
  sparse::apply_epilogue(product, c.csr.rows, c.n(), c.problem.epilogue, c.scale, c.bias);
  return product;
}

/// Runs and compares with float64.
inline void check_row_tile(const NamedDevice& on, const RowTileCase& c, const FieldMap& config) {
  INFO(on.name, ": ", c.csr.rows, " x ", c.csr.cols, ", ", c.csr.nonzeros(), " nonzeros, n = ", c.n(), ", leading ", c.dense_leading(), " and ",
       c.output_leading(), ", alignment ", c.problem.alignment_bytes, ", ", to_text(config));
  const std::vector<float> output = run_row_tile(*on.device, c, config);
  const double error = sparse::relative_error(output, c.output_leading(), reference_of(c), c.csr.rows, c.n());
  CHECK(error <= sparse::spmm_tolerance(c.statistics().longest_row));
}

}  // namespace vostok::test
