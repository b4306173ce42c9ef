// Handles that were moved from, and enumerators that are none, through the public face.
#include <doctest/doctest.h>

#include <utility>

#include <vostok/tools.hpp>
#include <vostok/vostok.hpp>

#include "contains.hpp"
#include "error_code.hpp"
#include "sparse/generate.hpp"

using namespace vostok;
using test::code_of;
using test::contains;

namespace {

Options memory_only() {
  return {.device = "emulator", .cache = {.enabled = false}, .log = [](LogLevel, std::string_view) {}};
}

template <class Call>
std::string refused(const Call& call) {
  std::string message;
  CHECK(code_of(call, &message) == ErrorCode::invalid_argument);
  return message;
}

}  // namespace

TEST_CASE("a context that was moved from is refused by every call, naming the handle") {
  Context source(memory_only());
  const Context context = std::move(source);
  const Topology topology = context.topology(sparse::uniform(8, 8, 0.5, 1).view());
  const auto gone = [&](const auto& call) { CHECK(contains(refused(call), "context handle is empty")); };
  gone([&] { source.topology(sparse::uniform(8, 8, 0.5, 1).view()); });
  gone([&] { source.plan(Spmm{.n = 1}, topology); });
  gone([&] { source.plan(BiasActivation{.rows = 1, .columns = 1}); });
  gone([&] { source.prepare({}); });
  gone([&] { source.load_packed(topology, std::vector<std::byte>()); });
  gone([&] { source.load_packed(topology, "/nowhere"); });
  gone([&] { source.load_packed(std::vector<std::byte>()); });
  gone([&] { source.load_packed("/nowhere"); });
  gone([&] { source.adopt_packed(std::vector<std::byte>(), PackedMemory{}); });
  gone([&] { source.adopt_packed(PackedMemory{}); });
  gone([&] { source.export_cache(); });
  gone([&] { source.import_cache({}); });
  gone([&] { source.reload(); });
  gone([&] { source.device(); });
  gone([&] { source.counters(); });
  gone([&] { make_array(source, 0); });
  gone([&] { copy_to_device(source, nullptr, nullptr, 0); });
  gone([&] { copy_to_host(source, nullptr, nullptr, 0); });
  gone([&] { sparse_above(source, {}, 0); });
  gone([&] { sparse_largest(source, {}, 0, Per::row); });
  gone([&] { make_mask(source, UniformMask{}); });
  gone([&] { make_mask(source, BlockMask{}); });
  gone([&] { make_mask(source, BandedMask{}); });
  gone([&] { make_mask(source, AttentionMask{}); });
}

TEST_CASE("topologies, plans, packed values and memory that were moved from are refused or empty") {
  const Context context(memory_only());
  Topology source = context.topology(sparse::uniform(8, 8, 0.5, 1).view());
  const Topology topology = std::move(source);
  const auto gone = [&](const auto& call) { CHECK(contains(refused(call), "handle is empty")); };
  gone([&] { source.rows(); });
  gone([&] { source.device_bytes(); });
  gone([&] { source.release_source(); });
  gone([&] { source.release_packing(); });
  gone([&] { context.plan(Spmm{.n = 1}, source); });
  gone([&] { context.load_packed(source, std::vector<std::byte>()); });
  gone([&] { transpose(source); });
  gone([&] { sort_columns(source); });
  gone([&] { to_dense(source, nullptr, {}); });
  gone([&] { linear_indices(source, static_cast<std::int64_t*>(nullptr)); });
  gone([&] { read_csr(source, static_cast<std::int64_t*>(nullptr), nullptr); });

  SpmmPlan moved = context.plan(Spmm{.n = 0, .value_lifetime = ValueLifetime::persistent}, topology);
  const SpmmPlan plan = std::move(moved);
  gone([&] { moved.execute(nullptr, {}); });
  gone([&] { moved.rebind(topology); });
  gone([&] { plan.rebind(source); });
  gone([&] { moved.pack(nullptr, nullptr); });
  gone([&] { moved.pack_into(nullptr, nullptr, {}); });
  gone([&] { moved.packed_bytes(); });
  gone([&] { moved.packed_format(); });
  gone([&] { moved.problem(); });
  gone([&] { moved.workspace_bytes(); });
  gone([&] { moved.make_workspace(); });
  gone([&] { moved.provenance(); });
  gone([&] { moved.family(); });
  gone([&] { moved.config(); });
  gone([&] { moved.explain(); });
  gone([&] { AttentionPlan().saved_bytes(); });

  alignas(16) float values[64] = {};
  PackedValues given = plan.pack(nullptr, values);
  const PackedValues packed = std::move(given);
  gone([&] { given.format(); });
  gone([&] { given.bytes(); });
  gone([&] { given.topology(); });
  gone([&] { given.save(); });
  gone([&] { given.save_head(); });
  CHECK(given.memory() == nullptr);
  CHECK(PackedReference(given).state() == nullptr);

  Workspace workspace(std::make_shared<int>(1), 4);
  const Workspace kept = std::move(workspace);
  CHECK(workspace.bytes() == 0);
  CHECK(static_cast<void*>(workspace) == nullptr);
  DeviceArray array(std::make_shared<int>(1), 4);
  const DeviceArray other = std::move(array);
  CHECK(array.bytes() == 0);
  CHECK(kept.bytes() + other.bytes() == 8);
}

TEST_CASE(
    "options and enumerators that are none are refused where a context is opened, and where it plans and explains") {
  const auto opened = [](const auto& change) {
    Options options = memory_only();
    change(options);
    return refused([&] { const Context context(options); });
  };
  CHECK(contains(opened([](Options& options) { options.compile = static_cast<CompilePolicy>(5); }), "compile = 5"));
  CHECK(contains(opened([](Options& options) { options.worker.timeout_seconds = -1; }), "timeout_seconds = -1"));
  CHECK(contains(opened([](Options& options) { options.cache.max_code_bytes = -1; }), "max_code_bytes = -1"));
  const Context context(memory_only());
  const Topology topology = context.topology(sparse::uniform(8, 8, 0.5, 1).view());
  CHECK(contains(refused([&] { context.plan(Spmm{.n = 0}, topology, {.effort = static_cast<Effort>(9)}); }),
                 "effort = 9"));
  CHECK(contains(refused([&] { context.plan(BiasActivation{}, {.policy = static_cast<Policy>(9)}); }), "policy = 9"));
  CHECK(contains(refused([&] { context.prepare({}, {.effort = static_cast<Effort>(9)}); }), "effort = 9"));
  CHECK(contains(refused([&] { context.plan(Spmm{.n = 0}, topology).explain(static_cast<Detail>(9)); }), "detail = 9"));
  CHECK(contains(refused([&] { context.plan(Spmm{.n = 0, .math = static_cast<Math>(9)}, topology); }), "math = 9"));
  CHECK(contains(refused([&] { context.plan(SparseAttention{.n = 0, .index = static_cast<IndexType>(9)}, topology); }),
                 "index = 9"));
}
