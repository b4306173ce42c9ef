// Runs steps of topologies below the planner, on operands at guarded ends of their allocations.
#pragma once

#include <doctest/doctest.h>

#include <vector>

#include "device/kernel_devices.hpp"
#include "ops/topology/csr.hpp"
#include "ops/topology/primitives.hpp"
#include "plan/kernels.hpp"
#include "plan/topology_state.hpp"
#include "sparse/csr.hpp"
#include "sparse/generate.hpp"

namespace vostok::test {

/// A device that runs kernels, and a session there without a cache on disk.
struct StepDevice {
  explicit StepDevice(NamedDevice named, plan::Stores stores = plan::memory_stores(), const Options& options = {})
      : on(std::move(named)),
        counters(std::make_shared<plan::AtomicCounters>()),
        session(std::make_shared<plan::Session>(on.device, std::move(stores),
                                                std::make_shared<Logger>([](LogLevel, std::string_view) {}), counters,
                                                options)) {}

  device::Device& device() const { return *on.device; }
  ops::Queue queue() const { return {device(), session->step_kernels(), device().own_stream()}; }
  std::shared_ptr<TopologyState> topology(const CsrView& csr) const {
    return std::make_shared<TopologyState>(session, csr, nullptr);
  }

  NamedDevice on;
  std::shared_ptr<plan::AtomicCounters> counters;
  std::shared_ptr<plan::Session> session;
};

/// One code store for all: what one order of threads compiled serves the others.
inline const std::vector<StepDevice>& step_devices() {
  static const std::vector<StepDevice> devices = [] {
    const plan::Stores stores = plan::memory_stores();
    std::vector<StepDevice> list;
    for (const NamedDevice& device : kernel_devices()) list.emplace_back(device, stores);
    return list;
  }();
  return devices;
}

/// A copy of `count` elements of device memory.
template <class T>
std::vector<T> read(device::Device& device, const void* memory, std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  if (count > 0) device.copy_to_host(values.data(), memory, count * std::int64_t{sizeof(T)});
  return values;
}
/// Of the pointer's type.
template <class T>
std::vector<T> read(device::Device& device, const T* memory, std::int64_t count) {
  return read<T>(device, static_cast<const void*>(memory), count);
}

/// An array in device memory of exactly as many bytes as it needs.
template <class T>
class DeviceVector {
 public:
  DeviceVector(device::Device& device, const std::vector<T>& values) : DeviceVector(device, values.size()) {
    if (!values.empty()) device.copy_to_device(data(), values.data(), buffer_.bytes());
  }
  DeviceVector(device::Device& device, std::size_t count)
      : device_(&device), count_(count), buffer_(device, static_cast<std::int64_t>(count * sizeof(T))) {}
  T* data() const { return buffer_.template as<T>(); }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    if (count_ > 0) device_->copy_to_host(values.data(), data(), buffer_.bytes());
    return values;
  }

 private:
  device::Device* device_;
  std::size_t count_;
  device::Buffer buffer_;
};

/// A structure in device memory, offsets in 32 or 64 bits, columns in the type given.
class DeviceCsr {
 public:
  DeviceCsr(device::Device& device, const sparse::Csr& csr, IndexType index = IndexType::i32, bool wide = false)
      : narrow_(device, std::vector<std::int32_t>(csr.row_offsets.begin(), csr.row_offsets.end())),
        wide_(device, csr.row_offsets),
        columns_(device, csr.column_indices),
        short_columns_(device, std::vector<std::uint16_t>(csr.column_indices.begin(), csr.column_indices.end())),
        arrays_{.row_offsets = wide ? static_cast<const void*>(wide_.data()) : narrow_.data(),
                .wide_offsets = wide,
                .column_indices =
                    index == IndexType::u16 ? static_cast<const void*>(short_columns_.data()) : columns_.data(),
                .index = index,
                .rows = csr.rows,
                .cols = csr.cols,
                .nonzeros = csr.nonzeros()} {}
  const ops::CsrArrays& arrays() const { return arrays_; }
  /// As a user gives it; `nonzeros` known or not.
  CsrView view(bool nonzeros_known) const {
    CsrView view{.rows = arrays_.rows, .cols = arrays_.cols, .nonzeros = nonzeros_known ? arrays_.nonzeros : -1};
    view.row_offsets = arrays_.wide_offsets ? IndexArray(wide_.data()) : IndexArray(narrow_.data());
    view.column_indices =
        arrays_.index == IndexType::u16 ? IndexArray(short_columns_.data()) : IndexArray(columns_.data());
    return view;
  }

 private:
  DeviceVector<std::int32_t> narrow_;
  DeviceVector<std::int64_t> wide_;
  DeviceVector<std::int32_t> columns_;
  DeviceVector<std::uint16_t> short_columns_;
  ops::CsrArrays arrays_;
};

/// A few of the cases where ThreadSanitizer makes every kernel slow, and says so; else all of them.
template <class T>
std::vector<T> affordable(std::vector<T> cases, std::size_t count) {
  if (!thread_sanitized || cases.size() <= count) return cases;
  std::printf("%zu of %zu cases skipped: ThreadSanitizer\n", cases.size() - count, cases.size());
  cases.erase(cases.begin(), cases.end() - static_cast<std::ptrdiff_t>(count));
  return cases;
}

/// Structures that differ in everything that steps depend on: empty, one element, block edges, skew, repeats.
inline std::vector<sparse::Csr> sample_structures(std::uint64_t seed) {
  std::vector<sparse::Csr> list;
  list.push_back({.rows = 0, .cols = 0, .row_offsets = {0}});
  list.push_back({.rows = 3, .cols = 5, .row_offsets = {0, 0, 0, 0}});
  list.push_back({.rows = 1, .cols = 1, .row_offsets = {0, 1}, .column_indices = {0}});
  list.push_back({.rows = 3, .cols = 3, .row_offsets = {0, 3, 3, 5}, .column_indices = {2, 0, 2, 1, 1}});
  list.push_back(sparse::uniform(33, 65, 0.5, seed));
  list.push_back(sparse::power_law(256, 700, 4097, 1.2, seed + 1));
  list.push_back(sparse::uniform(2, 3000, 0.1, seed + 2));
  return affordable(std::move(list), 4);
}

}  // namespace vostok::test
