// Runs a family's config below the planner: a case's operands, and a topology's forms made on the host.
#pragma once

#include <doctest/doctest.h>

#include <vector>

#include "device/kernel_devices.hpp"
#include "ops/family.hpp"
#include "sparse/csr.hpp"
#include "sparse/row_order.hpp"
#include "sparse/strips.hpp"
#include "tune/case.hpp"

namespace vostok::test {

/// The forms of a mask that do not name columns. Its table of strips ends in empty ones, as a topology's may.
class RowForms {
 public:
  /// `wide`: offsets as a topology of 2^31 nonzeros has them.
  RowForms(device::Device& device, const sparse::Csr& mask, const ops::TopologyNeeds& needs, bool wide = false) {
    if (wide) offsets_ = copy(device, mask.row_offsets);
    else offsets_ = copy(device, std::vector<std::int32_t>(mask.row_offsets.begin(), mask.row_offsets.end()));
    if (needs.row_order) order_ = copy(device, sparse::row_order(mask.row_offsets));
    if (needs.strip_entries == 0) return;
    std::vector<Strip> table = sparse::strips(mask.row_offsets, needs.strip_entries);
    table.insert(table.end(), 3, Strip{});
    strips_ = copy(device, table);
    strip_count_ = static_cast<std::int64_t>(table.size());
  }
  ops::TopologyPointers pointers() const {
    return {.row_offsets = offsets_.data(),
            .row_order = order_.as<std::int32_t>(),
            .strips = strips_.as<Strip>(),
            .strip_count = strip_count_};
  }

 private:
  template <class T>
  static device::Buffer copy(device::Device& device, const std::vector<T>& values) {
    device::Buffer buffer(device, static_cast<std::int64_t>(values.size() * sizeof(T)));
    if (!values.empty()) device.copy_to_device(buffer.data(), values.data(), buffer.bytes());
    return buffer;
  }
  device::Buffer offsets_;
  device::Buffer order_;
  device::Buffer strips_;
  std::int64_t strip_count_ = 0;
};

/// Compiles and runs a config on a poisoned workspace of the size that the family asks for, and verifies the case.
inline tune::Check run_family(device::Device& device, const ops::Family& family, const ops::Query& query,
                              const ops::Config& config, const ops::TopologyPointers& topology, tune::Case& problem) {
  const device::Buffer workspace(device, family.workspace_bytes(query, config));
  const std::vector<unsigned char> poison(static_cast<std::size_t>(workspace.bytes()), 0xff);
  if (!poison.empty()) device.copy_to_device(workspace.data(), poison.data(), workspace.bytes());
  problem.set_workspace(workspace.data());
  std::vector<ops::Launch> launches = family.launches(query, config, topology);
  for (ops::Launch& launch : launches) load_kernel(device, launch);
  return problem.verify([&](Stream stream) {
    const void* const arguments = problem.launch_arguments();
    for (const ops::Launch& launch : launches) launch.enqueue(device, stream, arguments);
  });
}

}  // namespace vostok::test
