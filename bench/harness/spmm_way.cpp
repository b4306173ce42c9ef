#include "bench/harness/spmm_way.hpp"

#include <utility>
#include <vector>

#include "base/stopwatch.hpp"
#include "bench/peers/rotation.hpp"
#include "plan/packed.hpp"
#include "tune/samples.hpp"

namespace vostok::bench {

namespace {

/// Lower bound on the bytes of the sparse matrix that kernels read. Packed values include their structure; CSR values
/// need two bytes for each column index, and the offsets, besides.
std::int64_t weights_bytes(const SpmmPlan& plan, const Topology& topology) {
  constexpr std::int64_t narrow_index_bytes = 2;
  const bool persistent = plan.problem().value_lifetime == ValueLifetime::persistent;
  const std::int64_t values_bytes =
      persistent ? plan.packed_bytes() : topology.nonzeros() * size_of(plan.problem().element);
  if (persistent && !plan.packed_format().starts_with("csr")) return values_bytes;
  return values_bytes + topology.nonzeros() * narrow_index_bytes + 4 * (topology.statistics().rows + 1);
}

/// A copy of the values in its own memory.
device::Buffer duplicate(device::Device& device, const void* values, std::int64_t bytes) {
  std::vector<std::byte> content(static_cast<std::size_t>(bytes));
  device.copy_to_host(content.data(), values, bytes);
  device::Buffer copy(device, bytes);
  device.copy_to_device(copy.data(), content.data(), bytes);
  return copy;
}

/// The inputs of one call; each has its own plan, since a plan belongs to one topology.
struct Copy {
  SpmmPlan plan;
  PackedValues packed = {};
  device::Buffer values = {};
};

}  // namespace

SpmmWay make_way(device::Device& device, const SpmmPlan& plan, Matrices& matrices,
                 const std::shared_ptr<tune::SpmmCase>& operands, std::int64_t rotated_bytes) {
  SpmmWay way;
  const std::int64_t bytes = weights_bytes(plan, matrices.topology());
  const int copies = copies_of(rotated_bytes, bytes);
  way.weights = {{"bytes", bytes}, {"copies", copies}};
  const bool persistent = plan.problem().value_lifetime == ValueLifetime::persistent;
  const Workspace workspace = plan.make_workspace();  // only one call runs at a time
  for (int i = 0; i < copies; ++i) {
    auto copy = std::make_shared<Copy>(
        Copy{.plan = i == 0 ? plan : plan.rebind(matrices.topology(static_cast<std::size_t>(i)))});
    if (persistent) copy->packed = copy->plan.pack(nullptr, operands->values());
    else if (i > 0)
      copy->values =
          duplicate(device, operands->values(), matrices.host()->nonzeros() * size_of(plan.problem().element));
    if (persistent && i == 0) way.packing = time_packing(device, plan, copy->packed, operands->values());
    way.calls.emplace_back([copy, operands, workspace](Stream stream) {
      SpmmArguments call = operands->call();
      call.workspace = workspace;
      if (copy->packed) call.values = nullptr, call.packed = copy->packed;
      else if (copy->values) call.values = copy->values.data();
      copy->plan.execute(stream, call);
    });
  }
  return way;
}

Json time_packing(device::Device& device, const SpmmPlan& plan, const PackedValues& packed, const void* values) {
  constexpr int samples = 9;
  const plan::PackSource source{
      .values = values, .element = plan.problem().element, .stride = packed.topology().nonzeros()};
  const tune::TimedLaunches timed =
      tune::record_timed(device, [&](Stream stream) { plan::queue_packing(*packed.state(), source, stream); });
  std::vector<double> launches_us, calls_us;
  for (int i = 0; i < samples; ++i) launches_us.push_back(timed.sample_us());
  Stopwatch watch;
  for (int i = 0; i < samples; ++i) {
    watch.lap_us();
    plan.pack(nullptr, values);
    calls_us.push_back(watch.lap_us());
  }
  const tune::Summary launches = tune::summarise(launches_us);
  return {{"format", packed.format()},
          {"bytes", packed.bytes()},
          {"us", number(launches.median_us)},
          {"spread_us", number(launches.spread_us)},
          {"call_us", number(tune::summarise(calls_us).median_us)}};
}

}  // namespace vostok::bench
