// Runs a config of a family that reads sparse strips on one device, below the planner: strips packed on the host or by
// the family's own launch.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "device/packed_run.hpp"
#include "ops/spmm/packed_operand.hpp"
#include "ops/topology/sparse_strips.hpp"
#include "sparse/sparse_strips.hpp"

namespace vostok::test {

/// One product to check.
struct SparseCase {
  SparseCase(const sparse::Csr& csr, const Spmm& problem, std::uint64_t seed)
      : host(problem, csr, seed, -0.75F), form(sparse::sparse_form(host.walked, host.value_positions)) {}

  tune::SpmmHost host;
  sparse::SparseForm form;
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

/// The structure of sparse strips in device memory, made on the host.
class DeviceSparseForm {
 public:
  DeviceSparseForm(device::Device& device, const sparse::SparseForm& form)
      : groups_(uploaded(device, form.groups)),
        headers_(uploaded(device, form.headers)),
        nonzero_offsets_(uploaded(device, form.nonzero_offsets)),
        unit_offsets_(uploaded(device, form.unit_offsets)),
        sources_(uploaded(device, form.sources)) {
    pointers_.sparse = {.groups = groups_.as<unsigned>(),
                        .headers = headers_.as<unsigned>(),
                        .nonzero_offsets = nonzero_offsets_.as<unsigned>(),
                        .unit_offsets = unit_offsets_.as<unsigned>(),
                        .sources = sources_.as<int>(),
                        .row_strips = static_cast<unsigned>(form.row_strips),
                        .k_blocks = static_cast<unsigned>(form.k_blocks),
                        .units = form.unit_offsets.back()};
  }
  const ops::TopologyPointers& pointers() const { return pointers_; }

 private:
  device::Buffer groups_, headers_, nonzero_offsets_, unit_offsets_, sources_;
  ops::TopologyPointers pointers_;
};

/// Every set of a case's values, packed on the host and laid out as Plan::pack lays them out.
inline std::vector<std::byte> packed_sets(const SparseCase& c, const SparseStructure& structure) {
  const Spmm& problem = c.problem();
  if (problem.value_lifetime != ValueLifetime::persistent) return {};
  const std::int64_t sets = problem.values_per_batch ? problem.batch : 1;
  const std::int64_t set_bytes = ops::sparse_set_bytes(structure);
  std::vector<std::byte> all(static_cast<std::size_t>(sets * set_bytes), std::byte{0xff});
  const auto nonzeros = static_cast<std::size_t>(c.host.walked.nonzeros());
  for (std::int64_t set = 0; set < sets; ++set) {
    const auto values =
        std::span<const float>(c.host.values).subspan(static_cast<std::size_t>(set * c.host.value_stride), nonzeros);
    const std::vector<std::uint32_t> packed = sparse::pack(c.form, sparse::to_storage(problem.element, values));
    std::ranges::copy(std::as_bytes(std::span(packed)), all.data() + set * set_bytes);
  }
  return all;
}

/// A case's operands on a device, and the launches of a config.
class SparseRun : private DeviceSparseForm, public PackedRun {
 public:
  SparseRun(device::Device& device, const ops::Family& family, const SparseCase& c, const ops::Config& config)
      : DeviceSparseForm(device, c.form),
        PackedRun(device, family, c.host, c.query(&device), config, pointers(), packed_sets(c, pointers().sparse)) {}
};

/// C as the device computes it with this config.
inline std::vector<float> run_sparse(device::Device& device, const ops::Family& family, const SparseCase& c,
                                     const ops::Config& config) {
  const SparseRun run(device, family, c, config);
  run.enqueue();
  return run.output();
}

/// Element by element against float64 (check_output).
inline void check_sparse(const NamedDevice& on, const ops::Family& family, const SparseCase& c,
                         const ops::Config& config) {
  INFO(on.name, ": ", described(c.host), "; ", to_text(config.to_map()));
  check_output(c.host, run_sparse(*on.device, family, c, config), element_tolerance(c.host.problem));
}

}  // namespace vostok::test
