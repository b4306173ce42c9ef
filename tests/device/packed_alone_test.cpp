// Packed values that stand alone: loaded without a topology, with what is needed of it alone, and in the caller's own
// device memory.
#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <string>

#include "base/temporary_folder.hpp"
#include "contains.hpp"
#include "device/devices.hpp"
#include "ops/topology/packed_format.hpp"
#include "plan/packed.hpp"
#include "plan/topology_state.hpp"
#include "sparse/elements.hpp"
#include "tune/spmm_case.hpp"

using namespace vostok;
using test::code_of;
using test::contains;
using test::on_every_device;

namespace {

constexpr std::uint64_t seed = 91;

/// A problem whose values are packed once, and the family that plans it: every way to pack that runs on the emulator.
struct Packing {
  const char* family;
  Spmm problem;
};

std::vector<Packing> packings() {
  std::vector<Packing> list = {{"row_tile", {.n = 8}},
                               {"unpack_mma", {.n = 16}},
                               {"unpack_mma", {.n = 16, .element = Dtype::f16}},
                               {"unpack_mma", {.n = 16, .element = Dtype::bf16, .sparse_transposed = true}},
                               {"sparse_vector", {.n = 1, .element = Dtype::f16}},
                               {"sparse_tensor_mma", {.n = 16, .element = Dtype::f16}}};
  for (Packing& packing : list) packing.problem.value_lifetime = ValueLifetime::persistent;
  return list;
}

sparse::Csr mask() { return sparse::uniform(96, 160, 0.6, seed); }

/// A plan and what was packed with it.
struct Packed {
  sparse::Csr csr;
  Topology topology;
  SpmmPlan plan;
  tune::SpmmCase operands;
  PackedValues values;

  Packed(const Context& context, const Packing& packing, sparse::Csr of = mask())
      : csr(std::move(of)),
        topology(context.topology(csr.view())),
        plan(context.plan(packing.problem, topology, {.effort = Effort::heuristic, .family = packing.family})),
        operands(test::device_of(context), packing.problem, csr, seed),
        values(plan.pack(nullptr, operands.values())) {}

  /// Multiplies values of their own topology, by a plan that is made for them; the output is compared with float64.
  void check(const Context& context, const PackedValues& packed) {
    const SpmmPlan reading = context.plan(plan.problem(), packed.topology(),
                                          {.effort = Effort::heuristic, .packed_format = packed.format()});
    CHECK(reading.packed_format() == packed.format());
    const Workspace workspace = reading.make_workspace();
    operands.set_workspace(workspace);
    operands.set_packed(packed);
    const tune::Check result = operands.verify([&](Stream stream) { reading.execute(stream, operands.call()); });
    CHECK_MESSAGE(result.wrong.empty(), result.wrong);
  }
};

/// What was saved, in device memory that belongs to a test.
struct DeviceBytes {
  DeviceBytes(const Context& context, std::span<const std::byte> bytes)
      : buffer(test::device_of(context), static_cast<std::int64_t>(bytes.size())) {
    test::device_of(context).copy_to_device(buffer.data(), bytes.data(), buffer.bytes());
  }
  PackedMemory memory(std::int64_t from = 0) const {
    return {.data = buffer.as<std::byte>() + from, .bytes = buffer.bytes() - from};
  }

  device::Buffer buffer;
};

}  // namespace

TEST_CASE(
    "packed values that were saved are loaded without a topology and multiply, whatever is kept of the one that is "
    "made") {
  INFO("seed " << seed);
  on_every_device([](const Context& context) {
    for (const Packing& packing : packings()) {
      CAPTURE(std::string(packing.family));
      CAPTURE(name(packing.problem.element));
      Packed packed(context, packing);
      const std::vector<std::byte> saved = packed.values.save();
      std::int64_t before = std::numeric_limits<std::int64_t>::max();
      for (const Keep keep : {Keep::everything, Keep::packing, Keep::execution}) {
        CAPTURE(name(keep));
        const PackedValues loaded = context.load_packed(saved, {.keep = keep});
        CHECK(loaded.topology().state() != packed.topology.state());
        CHECK(loaded.topology().nonzeros() == packed.csr.nonzeros());
        CHECK(loaded.format() == packed.values.format());
        CHECK(loaded.save() == saved);
        const std::int64_t bytes = loaded.topology().device_bytes();
        if (loaded.format().starts_with("csr/")) CHECK(bytes > 2 * packed.csr.nonzeros());
        else CHECK(bytes < before);
        before = bytes;
        packed.check(context, loaded);
      }
    }
  });
}

TEST_CASE("of a topology that only executes small lists are left in device memory") {
  INFO("seed " << seed);
  on_every_device([](const Context& context) {
    for (const Packing& packing : packings()) {
      CAPTURE(std::string(packing.family));
      const Packed packed(context, packing, sparse::uniform(512, 1024, 0.5, seed));
      const PackedValues loaded = context.load_packed(packed.values.save(), {.keep = Keep::execution});
      const std::int64_t elements = packed.csr.rows * packed.csr.cols, bytes = loaded.topology().device_bytes();
      // Two offsets for each strip of 1,024 elements; of runs the gaps between nonzeros, half a byte or a byte each,
      // which no other list has.
      if (loaded.format().starts_with("strip")) CHECK(bytes <= 8 * elements / 1024 + 1024);
      if (loaded.format().starts_with("runs")) CHECK(bytes < packed.csr.nonzeros() * 5 / 4);
      MESSAGE(loaded.format() << ": " << bytes << " bytes beside " << loaded.bytes()
                              << " of values, where CSR and forms take " << packed.topology.device_bytes());
    }
  });
}

TEST_CASE("a topology that gave back what packing reads executes, and refuses to pack, naming release_packing") {
  INFO("seed " << seed);
  on_every_device([](const Context& context) {
    for (const Packing& packing : packings()) {
      CAPTURE(std::string(packing.family));
      if (std::string_view(packing.family) == "row_tile") continue;  // packs nothing but a copy
      Packed packed(context, packing);
      const std::vector<std::byte> saved = packed.values.save();
      std::string message;
      {
        Spmm per_call = packing.problem;
        per_call.value_lifetime = ValueLifetime::per_call;
        const SpmmPlan plan =
            context.plan(per_call, packed.topology, {.effort = Effort::heuristic, .family = packing.family});
        CHECK(code_of([&] { packed.topology.release_packing(); }, &message) == ErrorCode::invalid_argument);
        CHECK_MESSAGE(contains(message, "read it"), message);
      }
      packed.topology.release_packing();
      packed.topology.release_packing();
      CHECK(packed.values.save() == saved);
      CHECK(packed.plan.packed_bytes() == packed.values.bytes());
      packed.check(context, packed.values);
      const std::vector<std::function<void()>> refused = {[&] { packed.plan.pack(nullptr, packed.operands.values()); },
                                                          [&] { context.load_packed(packed.topology, saved); }};
      for (const auto& call : refused) {
        CHECK(code_of(call, &message) == ErrorCode::invalid_argument);
        CHECK_MESSAGE(contains(message, "release_packing"), message);
      }
    }
  });
}

TEST_CASE(
    "values are packed into the caller's memory and are read in place, also once adopted with the head that was "
    "saved") {
  INFO("seed " << seed);
  on_every_device([](const Context& context) {
    for (const Packing& packing : packings()) {
      CAPTURE(std::string(packing.family));
      Packed packed(context, packing);
      const std::vector<std::byte> saved = packed.values.save(), head = packed.values.save_head();
      REQUIRE(head.size() % 256 == 0);
      REQUIRE(static_cast<std::int64_t>(head.size()) + packed.values.bytes() ==
              static_cast<std::int64_t>(saved.size()));
      CHECK(std::equal(head.begin(), head.end(), saved.begin()));

      const DeviceBytes own(
          context, std::vector<std::byte>(static_cast<std::size_t>(packed.plan.packed_bytes()), std::byte{0x5a}));
      const PackedValues into = packed.plan.pack_into(nullptr, packed.operands.values(), own.memory());
      CHECK(into.memory() == own.buffer.data());
      CHECK(into.bytes() == packed.plan.packed_bytes());
      CHECK(into.save() == saved);
      packed.check(context, into);

      const PackedValues adopted = context.adopt_packed(head, own.memory(), {.keep = Keep::execution});
      CHECK(adopted.memory() == own.buffer.data());
      packed.check(context, adopted);
      CHECK(context.adopt_packed(head, own.memory(), {.topology = packed.topology}).topology().state() ==
            packed.topology.state());

      const DeviceBytes whole(context, saved);
      const PackedValues in_one = context.adopt_packed(whole.memory(), {.keep = Keep::execution});
      CHECK(in_one.memory() == whole.buffer.as<std::byte>() + head.size());
      CHECK(in_one.save() == saved);
      packed.check(context, in_one);
    }
  });
}

TEST_CASE("an adopted owner is kept until the last handle of the values goes") {
  on_every_device([](const Context& context) {
    Packed packed(context, packings()[2]);
    const DeviceBytes whole(context, packed.values.save());
    auto owner = std::make_shared<int>(1);
    const std::weak_ptr<int> kept = owner;
    PackedMemory memory = whole.memory();
    memory.owner = std::move(owner);
    PackedValues adopted = context.adopt_packed(memory);
    memory = {};
    const PackedValues copy = adopted;
    adopted = {};
    CHECK_FALSE(kept.expired());
    packed.check(context, copy);
    packed.operands.set_packed({});
    const_cast<PackedValues&>(copy) = {};
    CHECK(kept.expired());
  });
}

TEST_CASE("memory that packed values cannot lie in is refused, saying what it lacks") {
  on_every_device([](const Context& context) {
    Packed packed(context, packings()[2]);
    const std::vector<std::byte> saved = packed.values.save(), head = packed.values.save_head();
    const DeviceBytes whole(context, saved);
    std::vector<std::byte> room(static_cast<std::size_t>(packed.values.bytes()) + 256);
    const DeviceBytes own(context, room);
    const auto refused = [&](ErrorCode code, const char* part, const PackedMemory& memory) {
      std::string message;
      for (const std::function<void()>& call :
           {std::function<void()>([&] { packed.plan.pack_into(nullptr, packed.operands.values(), memory); }),
            std::function<void()>([&] { context.adopt_packed(head, memory); })}) {
        CHECK(code_of(call, &message) == code);
        CHECK_MESSAGE(contains(message, part), message);
      }
    };
    refused(ErrorCode::misaligned_pointer, "aligned to 64 bytes, and must be to 256", own.memory(64));
    refused(ErrorCode::invalid_argument, "is null", {.data = nullptr, .bytes = packed.values.bytes()});
    refused(ErrorCode::invalid_argument, "are needed", {.data = own.buffer.data(), .bytes = packed.values.bytes() - 1});
    refused(ErrorCode::invalid_argument, "are needed", {.data = own.buffer.data(), .bytes = -1});
    void* const on_host = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(room.data()) + 255) / 256 * 256);
    if (context.device().gpu)
      refused(ErrorCode::invalid_argument, "lies on the host", {.data = on_host, .bytes = packed.values.bytes()});

    std::string message;
    CHECK(code_of([&] { context.adopt_packed(whole.memory(64)); }, &message) == ErrorCode::misaligned_pointer);
    PackedMemory cut = whole.memory();
    cut.bytes -= 1;
    CHECK(code_of([&] { context.adopt_packed(cut); }, &message) == ErrorCode::io_failure);
    CHECK_MESSAGE(contains(message, "cut short"), message);
    CHECK(code_of([&] { context.adopt_packed(PackedMemory{}); }) == ErrorCode::invalid_argument);
    const auto* const values = static_cast<const std::byte*>(packed.operands.values());
    const PackedMemory shared{.data = const_cast<std::byte*>(values), .bytes = packed.values.bytes()};
    CHECK(code_of([&] { packed.plan.pack_into(nullptr, values, shared); }, &message) == ErrorCode::invalid_argument);
    CHECK_MESSAGE(contains(message, "shares bytes"), message);
    const auto nothing = static_cast<Keep>(9);
    CHECK(code_of([&] { context.load_packed(saved, {.keep = nothing}); }, &message) == ErrorCode::invalid_argument);
    CHECK_MESSAGE(contains(message, "keep = 9"), message);
  });
}

TEST_CASE("adopted bytes of unknown origin are compared with the topology's structure, as loaded ones are") {
  INFO("seed " << seed);
  on_every_device([](const Context& context) {
    Packed packed(context, packings()[2]);
    std::vector<std::byte> values = packed.values.save();
    values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(packed.values.save_head().size()));
    values[0] ^= std::byte{1};  // the first lane's mask
    // A head with a right digest of wrong values: memory that holds them is adopted by nobody who compares.
    const DeviceBytes own(context, values);
    const PackedValues foreign = plan::empty_packed(packed.topology, packed.values.state()->kind,
                                                    std::make_unique<PackedMemory>(own.memory()).get());
    const std::vector<std::byte> head = foreign.save_head();
    std::string message;
    for (const LoadOptions& options : {LoadOptions{}, LoadOptions{.topology = packed.topology}}) {
      CHECK(code_of([&] { context.adopt_packed(head, own.memory(), options); }, &message) == ErrorCode::io_failure);
      CHECK_MESSAGE(contains(message, "places values where the topology has none"), message);
    }
    const Topology other = context.topology(sparse::uniform(96, 160, 0.6, seed + 1).view());
    CHECK(code_of([&] { context.adopt_packed(packed.values.save_head(), own.memory(), {.topology = other}); }) ==
          ErrorCode::io_failure);
    CHECK(code_of([&] { context.load_packed(packed.values.save(), {.topology = other}); }) ==
          ErrorCode::format_mismatch);
  });
}

TEST_CASE("a plan reads the format that it is asked for, or says why it cannot") {
  on_every_device([](const Context& context) {
    const Topology topology = context.topology(mask().view());
    const Spmm problem{.n = 16, .element = Dtype::f16, .value_lifetime = ValueLifetime::persistent};
    for (const char* format : {"csr/f16", "strip16x64/pair/f16x1", "strip16x64/2:4/f16"})
      CHECK(context.plan(problem, topology, {.effort = Effort::heuristic, .packed_format = format}).packed_format() ==
            format);
    const auto refused = [&](ErrorCode code, const Spmm& of, const char* format) {
      std::string message;
      CHECK(code_of([&] { context.plan(of, topology, {.effort = Effort::heuristic, .packed_format = format}); },
                    &message) == code);
      CHECK_MESSAGE(contains(message, "packed_format"), message);
    };
    refused(ErrorCode::invalid_argument, problem, "strip");
    refused(ErrorCode::invalid_argument, problem, "csr/f32");
    refused(ErrorCode::invalid_argument, problem, "strip16x64/pair/f16x1/transposed");
    refused(ErrorCode::unsupported, problem, "strip16x64/2:4/bf16");
    refused(ErrorCode::invalid_argument, Spmm{.n = 16, .element = Dtype::f16}, "strip16x64/pair/f16x1");
  });
}

TEST_CASE("a topology takes 16-bit indices from device memory, and names the column that its matrix lacks") {
  INFO("seed " << seed);
  on_every_device([](const Context& context) {
    device::Device& device = test::device_of(context);
    const auto on_device = [&](const auto& values) {
      device::Buffer buffer(device, static_cast<std::int64_t>(values.size() * sizeof(values[0])));
      device.copy_to_device(buffer.data(), values.data(), buffer.bytes());
      return buffer;
    };
    for (const std::int64_t cols : {std::int64_t{160}, std::int64_t{65536}, std::int64_t{70000}}) {
      CAPTURE(cols);
      sparse::Csr csr = mask();
      csr.cols = cols;
      if (cols > 65535) csr.column_indices[static_cast<std::size_t>(csr.row_offsets[1]) - 1] = 65535;
      const std::vector<std::uint16_t> columns(csr.column_indices.begin(), csr.column_indices.end());
      const std::vector<std::uint16_t> offsets(csr.row_offsets.begin(), csr.row_offsets.end());
      const device::Buffer device_columns = on_device(columns), device_offsets = on_device(offsets);
      CsrView view{.rows = csr.rows,
                   .cols = cols,
                   .row_offsets = device_offsets.as<const std::uint16_t>(),
                   .column_indices = device_columns.as<const std::uint16_t>()};
      const Topology topology = context.topology(view);
      CHECK(topology.state()->structure_digest() == context.topology(csr.view()).state()->structure_digest());
      CHECK(topology.statistics().longest_row == context.topology(csr.view()).statistics().longest_row);
      view.cols = 100;
      std::string message;
      CHECK(code_of([&] { context.topology(view); }, &message) == ErrorCode::invalid_topology);
      CHECK_MESSAGE(contains(message, "outside [0, 100)"), message);
    }
  });
}
