// Runs row_tile configs below the planner.
#pragma once

#include "device/csr_trials.hpp"
#include "ops/spmm/row_tile.hpp"

namespace vostok::test {

inline const ops::Family& row_tile() { return *ops::find_family("spmm", "row_tile"); }

using RowTileCase = SpmmProduct;

inline RowTileCase make_case(sparse::Csr csr, const Spmm& problem, std::uint64_t seed) {
  return make_product(std::move(csr), problem, seed);
}

inline std::vector<float> run_row_tile(device::Device& device, const RowTileCase& c, const ops::Config& config) {
  return run_product(row_tile(), device, c, config);
}

inline void check_row_tile(const NamedDevice& on, const RowTileCase& c, const ops::Config& config) {
  check_product(row_tile(), on, c, config);
}

inline CsrSubject row_tile_subject(const FieldValues& values) {
  return {.family = row_tile(),
          .devices = kernel_devices(),
          .values = values,
          .run = [](const NamedDevice& on, const RowTileCase& c,
                    const ops::Config& config) { return run_row_tile(*on.device, c, config); },
          .check = check_row_tile};
}

}  // namespace vostok::test
