// What the tests of the C interface share: handles with owners, a context without a cache, and a structure with its
// defaults.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "c/handles.hpp"
#include "c/options.hpp"
#include "contains.hpp"

namespace vostok::test {

template <auto release>
struct Releaser {
  void operator()(auto* handle) const { release(handle); }
};

using COfContext = std::unique_ptr<vostok_context, Releaser<vostok_context_release>>;
using COfTopology = std::unique_ptr<vostok_topology, Releaser<vostok_topology_release>>;
using COfPlan = std::unique_ptr<vostok_plan, Releaser<vostok_plan_release>>;
using COfPacked = std::unique_ptr<vostok_packed, Releaser<vostok_packed_release>>;
using COfArray = std::unique_ptr<vostok_array, Releaser<vostok_array_release>>;
using COfBytes = std::unique_ptr<vostok_bytes, Releaser<vostok_bytes_release>>;

/// Checks the status and the sentence of a call that fails.
inline void check_refused(vostok_status status, vostok_status wanted, const std::string& part) {
  CHECK_MESSAGE(status == wanted, std::string(vostok_last_error()));
  CHECK_MESSAGE(contains(vostok_last_error(), part), std::string(vostok_last_error()));
}

/// What a call makes of its last argument.
template <class Owner, class Call>
Owner made(const Call& call) {
  typename Owner::pointer handle = nullptr;
  const vostok_status status = call(&handle);
  REQUIRE_MESSAGE(status == VOSTOK_OK, std::string(vostok_last_error()));
  REQUIRE(handle != nullptr);
  return Owner(handle);
}

/// The options of a context on the emulator that keeps nothing on disk and logs nothing.
inline vostok_options quiet_options() {
  vostok_options options;
  vostok_options_init(&options, sizeof options);
  options.device = "emulator";
  options.cache_enabled = 0;
  options.log = [](int32_t, const char*, void*) {};
  return options;
}

inline COfContext open(const vostok_options& options = quiet_options()) {
  return made<COfContext>([&](vostok_context** context) { return vostok_context_create(&options, context); });
}

/// [[a, 0, b], [0, c, 0]]: its nonzeros are in this order.
struct SmallMatrix {
  static constexpr std::int64_t rows = 2, cols = 3, nonzeros = 3;
  std::vector<std::int32_t> row_offsets = {0, 2, 3};
  std::vector<std::int32_t> column_indices = {0, 2, 1};

  vostok_csr csr() const {
    vostok_csr csr;
    vostok_csr_init(&csr, sizeof csr);
    csr.rows = rows;
    csr.cols = cols;
    csr.row_offsets = row_offsets.data();
    csr.column_indices = column_indices.data();
    return csr;
  }
};

inline COfTopology small_topology(const COfContext& context, const SmallMatrix& matrix = {}) {
  const vostok_csr csr = matrix.csr();
  return made<COfTopology>(
      [&](vostok_topology** topology) { return vostok_topology_create(context.get(), &csr, nullptr, topology); });
}

inline vostok_spmm spmm_of(std::int64_t n) {
  vostok_spmm problem;
  vostok_spmm_init(&problem, sizeof problem);
  problem.n = n;
  return problem;
}

inline COfPlan plan_of(const COfContext& context, const COfTopology& topology, const vostok_spmm& problem) {
  return made<COfPlan>(
      [&](vostok_plan** plan) { return vostok_plan_spmm(context.get(), topology.get(), &problem, nullptr, plan); });
}

inline vostok_spmm_arguments arguments_of(const void* values, const void* dense, void* output) {
  vostok_spmm_arguments arguments;
  vostok_spmm_arguments_init(&arguments, sizeof arguments);
  arguments.values = values;
  arguments.dense = dense;
  arguments.output = output;
  return arguments;
}

}  // namespace vostok::test
