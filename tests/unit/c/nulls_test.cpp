// Each pointer in turn is null, beside others that are good. What takes nothing but null is asked by c_nulls, which is
// made from the header.
#include <doctest/doctest.h>

#include "unit/c/fixture.hpp"

using namespace vostok;
using test::check_refused;

namespace {

struct Stage {
  test::COfContext context = test::open();
  test::COfTopology topology = test::small_topology(context);
  vostok_spmm problem = test::spmm_of(4);
  test::COfPlan plan = test::plan_of(context, topology, problem);
  alignas(256) float memory[256] = {};
};

void check_null(vostok_status status, const std::string& part) { check_refused(status, VOSTOK_INVALID_ARGUMENT, part); }

}  // namespace

TEST_CASE("a null input is refused by its name, and what was to be made is null") {
  Stage on;
  const vostok_context* const context = on.context.get();
  vostok_topology* topology = on.topology.get();
  check_null(vostok_topology_create(context, nullptr, nullptr, &topology), "vostok_csr: the pointer to it is NULL");
  CHECK(topology == nullptr);
  vostok_csr csr;
  vostok_csr_init(&csr, sizeof csr);
  csr.rows = csr.cols = 1;
  check_null(vostok_topology_create(context, &csr, nullptr, &topology), "row_offsets is null");

  vostok_plan* plan = on.plan.get();
  check_null(vostok_plan_spmm(context, nullptr, &on.problem, nullptr, &plan), "topology: it is NULL");
  CHECK(plan == nullptr);
  check_null(vostok_plan_spmm(context, on.topology.get(), nullptr, nullptr, &plan),
             "vostok_spmm: the pointer to it is NULL");
  check_null(vostok_plan_rebind(on.plan.get(), nullptr, &plan), "topology: it is NULL");
  vostok_packed* packed = nullptr;
  check_null(vostok_packed_load(context, on.topology.get(), nullptr, 8, &packed), "data: it is NULL");
  check_null(vostok_context_import_cache(context, nullptr, 8), "data: it is NULL");
  check_null(vostok_copy_to_host(context, on.memory, nullptr, 4, nullptr), "device is null");
  check_null(vostok_copy_to_device(context, on.memory, nullptr, 4, nullptr), "host is null");
  check_null(vostok_topology_read(on.topology.get(), nullptr, on.memory, 4, nullptr), "row_offsets is null");
  check_null(vostok_linear_indices(on.topology.get(), nullptr, 4, nullptr), "indices is null");
  check_null(vostok_to_dense(on.topology.get(), on.memory, nullptr, nullptr),
             "vostok_dense: the pointer to it is NULL");
  check_null(vostok_make_uniform_mask(context, nullptr, nullptr, &topology),
             "vostok_uniform_mask: the pointer to it is NULL");
}

TEST_CASE("a null output is refused by its name, and nothing is made") {
  Stage on;
  const vostok_context* const context = on.context.get();
  const test::SmallMatrix matrix;
  const vostok_csr csr = matrix.csr();
  check_null(vostok_context_create(nullptr, nullptr), "context: it is NULL");
  check_null(vostok_topology_create(context, &csr, nullptr, nullptr), "topology: it is NULL");
  check_null(vostok_plan_spmm(context, on.topology.get(), &on.problem, nullptr, nullptr), "plan: it is NULL");
  check_null(vostok_plan_rebind(on.plan.get(), on.topology.get(), nullptr), "rebound: it is NULL");
  check_null(vostok_array_create(context, 4, nullptr), "array: it is NULL");
  check_null(vostok_plan_pack(on.plan.get(), nullptr, on.memory, nullptr), "packed: it is NULL");
  check_null(vostok_context_export_cache(context, nullptr), "bytes: it is NULL");
  check_null(vostok_context_device(context, nullptr), "vostok_device_info: the pointer to it is NULL");
  check_null(vostok_context_counters(context, nullptr), "vostok_counters: the pointer to it is NULL");
  check_null(vostok_topology_statistics(on.topology.get(), nullptr), "vostok_statistics: the pointer to it is NULL");
  check_null(vostok_topology_device_bytes(on.topology.get(), nullptr), "bytes: it is NULL");
}

TEST_CASE("where one of two outputs is null, the other is null afterwards") {
  const Stage on;
  vostok_topology* topology = on.topology.get();
  auto* array = reinterpret_cast<vostok_array*>(topology);
  check_null(vostok_transpose(on.topology.get(), nullptr, &topology, nullptr), "positions: it is NULL");
  CHECK(topology == nullptr);
  check_null(vostok_sort_columns(on.topology.get(), nullptr, nullptr, &array), "topology: it is NULL");
  CHECK(array == nullptr);
  check_null(vostok_transpose(nullptr, nullptr, &topology, &array), "source: it is NULL");
  vostok_dense dense;
  vostok_dense_init(&dense, sizeof dense);
  check_null(vostok_sparse_above(on.context.get(), &dense, 0, nullptr, &topology, nullptr), "values: it is NULL");
}
