// What topologies and tools ask of a device: how often they read back, wait and allocate, and what they refuse.
#include <doctest/doctest.h>

#include <abi/strip.h>

#include "plan/tools.hpp"
#include "unit/plan/fixture.hpp"

using namespace vostok;
using test::code_of;

namespace {

/// Every pointer is device memory; reads back, waits and fills are counted. Kernels do not run, so what they measure
/// stays zero.
class CountingDevice : public test::FakeDevice {
 public:
  int read_backs = 0;
  mutable int waits = 0;

  bool is_device_pointer(const void* pointer) const override { return pointer != nullptr; }
  void copy_to_host(void* destination, const void* source, std::int64_t bytes, Stream after) override {
    ++read_backs;
    test::FakeDevice::copy_to_host(destination, source, bytes, after);
  }
  void synchronize(Stream) const override { ++waits; }
};

struct CountingFixture : test::Fixture {
  std::shared_ptr<CountingDevice> counting = std::make_shared<CountingDevice>();
  std::vector<std::int32_t> offsets = std::vector<std::int32_t>(2049, 0);

  CountingFixture() {
    device = counting;
    offsets.back() = 420'000;
  }
  CsrView view(std::int64_t nonzeros) const {
    CsrView csr{.rows = 2048, .cols = 2048, .row_offsets = offsets.data(), .nonzeros = nonzeros};
    csr.column_indices = offsets.data();
    return csr;
  }
};

}  // namespace

TEST_CASE("a topology from device arrays reads back once, and once more where it is not told its nonzeros") {
  CountingFixture fixture;
  const auto session = fixture.session();
  const TopologyState known(session, fixture.view(420'000), nullptr);
  CHECK(fixture.counting->read_backs == 1);
  CHECK(fixture.counting->waits == 0);
  CHECK(fixture.device->launches <= 5);
  const TopologyState asked(session, fixture.view(-1), nullptr);
  CHECK(fixture.counting->read_backs == 3);
  CHECK(asked.statistics().nonzeros == 420'000);
}

TEST_CASE("forms read nothing back, wait once when they are built and never again") {
  CountingFixture fixture;
  const auto session = fixture.session();
  TopologyState topology(session, fixture.view(420'000), nullptr);
  const int before = fixture.counting->read_backs;
  const ops::TopologyNeeds needs[] = {{.index = IndexType::u16, .row_order = true},
                                      {.index = IndexType::u16, .strip_entries = 32},
                                      {.index = IndexType::u16, .transposed = true, .row_order = true}};
  for (const ops::TopologyNeeds& need : needs) {
    topology.statistics(need.transposed);
    topology.pointers(need);
  }
  CHECK(fixture.counting->read_backs == before);
  CHECK(fixture.counting->waits <= 3);
  const int waits = fixture.counting->waits;
  const int launches = fixture.device->launches;
  const int allocations = fixture.device->allocations_alive;
  for (const ops::TopologyNeeds& need : needs) topology.pointers(need);
  CHECK(fixture.counting->waits == waits);
  CHECK(fixture.device->launches == launches);
  CHECK(fixture.device->allocations_alive == allocations);
}

TEST_CASE("what was queued for a request that failed is waited for by the next") {
  CountingFixture fixture;
  const auto session = fixture.session();
  TopologyState topology(session, fixture.view(std::int64_t{1} << 31), nullptr);
  CHECK(code_of([&] { topology.pointers({.index = IndexType::u16, .row_order = true, .strip_entries = 8}); }) ==
        ErrorCode::unsupported);
  CHECK(fixture.counting->waits == 0);
  topology.pointers({.index = IndexType::u16, .row_order = true});
  CHECK(fixture.counting->waits == 1);
}

TEST_CASE(
    "more than 2^31 - 1 nonzeros keep 64-bit offsets, and forms that number them in 32 bits are refused by the "
    "number") {
  CountingFixture fixture;
  const auto session = fixture.session();
  constexpr std::int64_t nonzeros = (std::int64_t{1} << 31) + 5;
  TopologyState topology(session, fixture.view(nonzeros), nullptr);
  CHECK(topology.statistics().nonzeros == nonzeros);
  CHECK(topology.arrays().wide_offsets);
  CHECK(topology.device_bytes() >= nonzeros * 2 + 2049 * 8);
  CHECK(topology.pointers({.index = IndexType::u16, .row_order = true}).row_offsets != nullptr);
  const auto refused = [&](const ops::TopologyNeeds& needs) {
    std::string message;
    CHECK(code_of([&] { topology.pointers(needs); }, &message) == ErrorCode::unsupported);
    CHECK(message.find("2147483653") != std::string::npos);
  };
  refused({.index = IndexType::u16, .strip_entries = 32});
  refused({.index = IndexType::u16, .transposed = true});
  CHECK(code_of([&] { topology.statistics(true); }) == ErrorCode::unsupported);
}

TEST_CASE("more than 2^31 - 1 nonzeros are read back in int64, and refused in int32 by the number") {
  CountingFixture fixture;
  const auto session = fixture.session();
  const Topology topology(std::make_shared<TopologyState>(session, fixture.view((std::int64_t{1} << 31) + 5), nullptr));
  std::int64_t memory[1] = {};
  const int before = fixture.device->launches;
  read_csr(topology, memory, memory);
  CHECK(fixture.device->launches == before + 2);
  auto* const narrow = reinterpret_cast<std::int32_t*>(memory);
  std::string message;
  CHECK(code_of([&] { read_csr(topology, narrow, narrow); }, &message) == ErrorCode::invalid_argument);
  CHECK(message.find("int32 does not hold 2147483653 nonzeros") != std::string::npos);
}

TEST_CASE("every tool refuses a stream that is being captured") {
  CountingFixture fixture;
  const auto session = fixture.session();
  const Topology topology(std::make_shared<TopologyState>(session, fixture.view(420'000), nullptr));
  fixture.device->capturing = true;
  std::int32_t memory[4] = {};
  const DenseView dense{.data = memory, .rows = 2, .cols = 2};
  const std::vector<std::function<void()>> calls = {
      [&] { plan::sparse_above(session, dense, 0, nullptr); },
      [&] { plan::sparse_largest(session, dense, 1, Per::row, nullptr); },
      [&] { to_dense(topology, memory, {.data = memory}); },
      [&] { transpose(topology); },
      [&] { sort_columns(topology); },
      [&] { linear_indices(topology, memory); },
      [&] { read_csr(topology, memory, memory); },
      [&] { plan::copy_to_device(*session, memory, memory, 4, nullptr); },
      [&] { plan::copy_to_host(*session, memory, memory, 4, nullptr); },
      [&] { plan::make_mask(session, UniformMask{.rows = 2, .cols = 2}, nullptr); },
      [&] { plan::make_mask(session, BlockMask{.rows = 2, .cols = 2}, nullptr); },
      [&] { plan::make_mask(session, BandedMask{.rows = 2, .cols = 2}, nullptr); },
      [&] { plan::make_mask(session, AttentionMask{.rows = 2, .cols = 2}, nullptr); }};
  for (const std::function<void()>& call : calls) CHECK(code_of(call) == ErrorCode::capture_active);
}

TEST_CASE("what a topology and its forms held goes with it, and with a launch that fails") {
  CountingFixture fixture;
  {
    const auto session = fixture.session();
    TopologyState topology(session, fixture.view(420'000), nullptr);
    topology.pointers({.index = IndexType::u16, .transposed = true, .row_order = true, .strip_entries = 4});
    const int held = fixture.device->allocations_alive;
    fixture.device->fake_compiler.on_compile = [](const device::Source&) {
      fail(ErrorCode::compile_failed, "cannot compile: broken");
    };
    CHECK(code_of([&] { topology.pointers({.index = IndexType::i32}); }) == ErrorCode::compile_failed);
    CHECK(fixture.device->allocations_alive == held);
    CHECK(code_of([&] { topology.pointers({.index = IndexType::i32}); }) == ErrorCode::compile_failed);
  }
  CHECK(fixture.device->allocations_alive == 0);
}
