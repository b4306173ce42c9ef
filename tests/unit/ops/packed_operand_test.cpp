// What the cost models of families with packed operands share.
#include "ops/spmm/packed_operand.hpp"

#include <doctest/doctest.h>

#include "device/device.hpp"
#include "unit/fakes/fake_device.hpp"
#include "unit/ops/spmm_queries.hpp"

using namespace vostok;
using test::query_of;
using test::statistics_of;

TEST_CASE("calls in a row hide starts where the next one finds room, nothing is packed between, and kernels can") {
  test::FakeDevice hopper;
  hopper.be_a_gpu();
  const auto ampere = device::open_compile_only("NVIDIA A100-SXM4-80GB", {});
  const TopologyStatistics layer = statistics_of(2048, 512, 0.1);
  const Spmm packed_once{.n = 256, .element = Dtype::f16, .value_lifetime = ValueLifetime::persistent};
  const ops::SpmmQuery query = query_of(packed_once, layer, &hopper);
  CHECK(ops::hidden_start_us(query, 64, 264, 0.8) == doctest::Approx(0.8));
  CHECK(ops::hidden_start_us(query, 100, 150, 0.8) == doctest::Approx(0.4));
  CHECK(ops::hidden_start_us(query, 264, 132, 0.8) == 0);
  CHECK(ops::hidden_start_us(query, 0, 132, 0.8) == doctest::Approx(0.8));
  CHECK(ops::hidden_start_us(query_of(packed_once, layer), 64, 264, 0.8) == doctest::Approx(0.8));
  CHECK(ops::hidden_start_us(query_of(packed_once, layer, ampere.get()), 64, 264, 0.8) == 0);
  Spmm per_call = packed_once;
  per_call.value_lifetime = ValueLifetime::per_call;
  CHECK(ops::hidden_start_us(query_of(per_call, layer, &hopper), 64, 264, 0.8) == 0);
}
