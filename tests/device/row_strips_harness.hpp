// Runs row_strips configs below the planner: a case's operands, and a topology's forms made on the host.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "codegen/fields.hpp"
#include "device/kernel_devices.hpp"
#include "device/uneven_mask.hpp"
#include "ops/families.hpp"
#include "ops/sddmm/row_strips.hpp"
#include "sparse/generate.hpp"
#include "sparse/strips.hpp"
#include "tune/sddmm_case.hpp"

namespace vostok::test {

inline const ops::Family& row_strips_family() {
  static const std::unique_ptr<ops::Family> family = ops::make_row_strips();
  return *family;
}

inline ops::Config default_row_strips(const tune::SddmmCase& problem) {
  return row_strips_family().default_config(problem.query());
}

template <class T>
device::Buffer to_device(device::Device& device, const std::vector<T>& values) {
  device::Buffer buffer(device, static_cast<std::int64_t>(values.size() * sizeof(T)));
  if (!values.empty()) device.copy_to_device(buffer.data(), values.data(), buffer.bytes());
  return buffer;
}

/// The forms of a mask that row_strips reads. Its table holds empty strips, at its start and its end, as a topology's
/// may.
class MaskForms {
 public:
  MaskForms(device::Device& device, const sparse::Csr& mask, const ops::TopologyNeeds& needs) {
    if (needs.index == IndexType::u16)
      columns_ = to_device(device, std::vector<std::uint16_t>(mask.column_indices.begin(), mask.column_indices.end()));
    else columns_ = to_device(device, mask.column_indices);
    std::vector<Strip> table = sparse::strips(mask.row_offsets, needs.strip_entries);
    const Strip empty{.row = 0, .begin = 0, .end = 0, .first = 0};
    table.insert(table.begin(), 3, empty);
    table.insert(table.end(), 2, empty);
    strips_ = to_device(device, table);
    count_ = static_cast<std::int64_t>(table.size());
  }
  ops::TopologyPointers pointers() const {
    return {.column_indices = columns_.data(), .strips = strips_.as<Strip>(), .strip_count = count_};
  }

 private:
  device::Buffer columns_;
  device::Buffer strips_;
  std::int64_t count_ = 0;
};

/// What one execute launches, compiled, with everything that it reads.
class LoadedRowStrips {
 public:
  /// `compiled_for` may differ from the case's query in what changes traits only.
  LoadedRowStrips(device::Device& device, tune::SddmmCase& problem, const sparse::Csr& mask, const ops::Config& config,
                  const ops::SddmmQuery& compiled_for)
      : device_(device),
        problem_(problem),
        forms_(device, mask, row_strips_family().needs(problem.query(), config)),
        workspace_(device, row_strips_family().workspace_bytes(problem.query(), config)),
        launches_(row_strips_family().launches(compiled_for, config, forms_.pointers())) {
    const std::vector<unsigned char> poison(static_cast<std::size_t>(workspace_.bytes()), 0xff);
    if (!poison.empty()) device.copy_to_device(workspace_.data(), poison.data(), workspace_.bytes());
    problem.set_workspace(workspace_.data());
    for (ops::Launch& launch : launches_) load_kernel(device, launch);
  }

  tune::Check verify() {
    return problem_.verify([&](Stream stream) {
      for (const ops::Launch& launch : launches_) launch.enqueue(device_, stream, problem_.arguments());
    });
  }

 private:
  device::Device& device_;
  tune::SddmmCase& problem_;
  MaskForms forms_;
  device::Buffer workspace_;
  std::vector<ops::Launch> launches_;
};

/// Runs and compares with float64; returns the output.
inline std::vector<float> check_row_strips(const NamedDevice& on, const Sddmm& problem, const sparse::Csr& mask,
                                           std::uint64_t seed, const ops::Config* config = nullptr) {
  tune::SddmmCase c(*on.device, problem, mask, seed);
  const ops::Config used = config != nullptr ? *config : default_row_strips(c);
  INFO(on.name, ": ", mask.rows, " x ", mask.cols, ", ", mask.nonzeros(), " nonzeros, n = ", problem.n, ", ",
       c.query().exact, ", ", to_text(used.to_map()));
  const tune::Check check = LoadedRowStrips(*on.device, c, mask, used, c.query()).verify();
  CHECK_MESSAGE(check.wrong.empty(), check.wrong);
  return c.output();
}

}  // namespace vostok::test
