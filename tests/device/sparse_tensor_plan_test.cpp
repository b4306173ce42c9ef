// Plans of the sparse_tensor families through the public API: their values packed once, saved, loaded and shared, with
// and without CSR.
#include <doctest/doctest.h>

#include <cstdio>

#include "device/spmm_operands.hpp"
#include "device/uneven_mask.hpp"
#include "ops/topology/packed_format.hpp"
#include "ops/topology/sparse_strips.hpp"
#include "plan/packed.hpp"
#include "plan/packed_probe.hpp"
#include "plan/topology_state.hpp"
#include "tune/spmm_case.hpp"

using namespace vostok;
using test::code_of;
using test::on_every_device;

namespace {

constexpr std::uint64_t seed = 62;

/// The families that read sparse strips here, of an aligned problem with n above 32.
std::vector<std::string> families(const Context& context) {
  std::vector<std::string> list;
  for (const char* name : {"sparse_tensor_mma", "sparse_tensor_wgmma"})
    if (ops::find_family("spmm", name)->runs_on(test::device_of(context).architecture())) list.emplace_back(name);
  if (list.empty())
    std::printf("plans of sparse strips skipped: %s has no sparse multiplication\n", context.device().name.c_str());
  return list;
}

}  // namespace

TEST_CASE(
    "plans that are asked of a sparse_tensor family pack, save, load and share one format, before and after the CSR "
    "arrays are gone") {
  INFO("seed " << seed);
  on_every_device([](const Context& context) {
    for (const bool transposed : {false, true}) {
      const sparse::Csr csr = test::uneven_mask(104, 152, seed);
      const Spmm problem{.n = 40,
                         .element = Dtype::f16,
                         .output = Dtype::f32,
                         .sparse_transposed = transposed,
                         .value_lifetime = ValueLifetime::persistent};
      const Topology topology = context.topology(csr.view());
      tune::SpmmCase operands(test::device_of(context), problem, csr, seed);
      std::vector<SpmmPlan> plans;
      for (const std::string& name : families(context))
        plans.push_back(context.plan(problem, topology, {.family = name}));
      if (plans.empty()) return;
      const PackedValues packed = plans.front().pack(nullptr, operands.values());
      CHECK(packed.format() == (transposed ? "strip16x64/2:4/f16/transposed" : "strip16x64/2:4/f16"));
      const std::vector<std::byte> saved = packed.save();
      for (const bool released : {false, true}) {
        if (released) topology.release_source();
        for (const PackedValues& values : {packed, context.load_packed(topology, saved)}) {
          operands.set_packed(values);
          for (const SpmmPlan& plan : plans) {
            CAPTURE(plan.family());
            CHECK(plan.packed_bytes() == values.bytes());
            const Workspace workspace = plan.make_workspace();
            operands.set_workspace(workspace);
            CHECK(operands.verify([&](Stream stream) { plan.execute(stream, operands.call()); }).wrong == "");
          }
        }
        CHECK(plans.front().pack(nullptr, operands.values()).save() == saved);
      }
    }
  });
}

TEST_CASE(
    "sparse strips are made once, count as the topology's memory, and their headers are told from another topology's") {
  on_every_device([](const Context& context) {
    device::Device& device = test::device_of(context);
    const sparse::Csr csr = sparse::uniform(100, 200, 0.9, seed);
    const Topology topology = context.topology(csr.view());
    const std::int64_t before = topology.device_bytes();
    const ops::TopologyPointers form = topology.state()->pointers({.sparse_strips = true});
    CHECK(topology.device_bytes() >=
          before + csr.nonzeros() * 4 + std::int64_t{form.sparse.row_strips} * form.sparse.k_blocks * 132);
    CHECK(topology.state()->pointers({.sparse_strips = true}).sparse.groups == form.sparse.groups);
    CHECK(form.row_offsets == nullptr);

    const ops::PackedFormat& format = *ops::find_packed_format(ops::sparse_format(Dtype::bf16));
    const test::Floats values(
        device, std::vector<float>(static_cast<std::size_t>(csr.nonzeros()), 1.0F));  // bits of 16 are taken
    const plan::PackedKind kind{.packing = &format};
    const PackedValues packed = plan::pack(topology, kind, {.values = values.data(), .element = Dtype::bf16}, nullptr);
    std::vector<std::byte> bytes(static_cast<std::size_t>(packed.bytes()));
    device.copy_to_host(bytes.data(), packed.state()->memory(), packed.bytes());
    CHECK(format.used_bytes(form) <= packed.bytes());
    const plan::PackedProbe probe(topology, kind);
    CHECK_FALSE(probe.first_foreign(bytes));
    std::vector<std::uint32_t> offsets(std::size_t{form.sparse.row_strips} * form.sparse.k_blocks);
    device.copy_to_host(offsets.data(), form.sparse.unit_offsets, static_cast<std::int64_t>(4 * offsets.size()));
    const std::size_t header = std::size_t{offsets[5]} * packed_unit_bytes() + 2;
    bytes[header] ^= std::byte{1};
    CHECK(probe.first_foreign(bytes) == header);

    const sparse::Csr repeats{.rows = 1, .cols = 4, .row_offsets = {0, 2}, .column_indices = {3, 3}};
    const Topology twice = context.topology(repeats.view());
    CHECK(code_of([&] { twice.state()->pointers({.sparse_strips = true}); }) == ErrorCode::unsupported);
  });
}
