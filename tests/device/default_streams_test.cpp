// The legacy stream and each thread's default stream, by their handles: what reads operands behind a stream waits for
// the work queued there, as PyTorch's users need it, whose default stream is the legacy one.
#include <doctest/doctest.h>

#include <bit>
#include <functional>
#include <future>
#include <thread>
#include <vector>

#include <vostok/tools.hpp>

#include "device/spmm_operands.hpp"
#include "device/user_stream.hpp"

using namespace vostok;
using test::code_of;
using test::device_of;
using test::on_every_device;
using test::on_every_gpu;
using test::SpmmOperands;
using test::UserStream;

namespace {

/// A stream as its producer names it, and as the calls are given it.
struct DefaultStream {
  const char* name;
  Stream producer;
  Stream given;
};
const DefaultStream default_streams[] = {{"legacy", nullptr, legacy_stream},
                                         {"per thread", per_thread_stream, per_thread_stream}};

constexpr int produced_byte = 0x3c;
const float produced = std::bit_cast<float>(0x3c3c3c3cU);
constexpr int poison_byte = 0x7f;  // as an index no column, as a float 3e38

/// Keeps a stream busy for some 40 ms on the fastest GPU.
class SlowWork {
 public:
  explicit SlowWork(device::Device& device) : device_(device), memory_(device, std::int64_t{256} << 20) {}
  void queue(Stream stream) const {
    for (int i = 0; i < 400; ++i) device_.fill(stream, memory_.data(), i, memory_.bytes());
  }

 private:
  device::Device& device_;
  device::Buffer memory_;
};

/// `memory` holds poison, then, behind slow work on the stream, the produced bytes; `consume` is called meanwhile and
/// must see those. Repeated until the work was seen running when the call began: a machine may pause this thread for
/// longer than that takes.
void check_consumer(const device::cuda::CudaContext& primary, device::Device& device, const DefaultStream& stream,
                    const device::Buffer& memory, int byte, const std::function<void()>& consume) {
  CAPTURE(stream.name);
  const SlowWork slow(device);
  const device::cuda::OwnedEvent event(primary, device::cuda::event_disable_timing);
  const std::vector<char> poison(static_cast<std::size_t>(memory.bytes()), static_cast<char>(poison_byte));
  bool was_running = false;
  for (int attempt = 0; attempt < 20 && !was_running; ++attempt) {
    device.synchronize(stream.producer);
    device.copy_to_device(memory.data(), poison.data(), memory.bytes());
    slow.queue(stream.producer);
    device.fill(stream.producer, memory.data(), byte, memory.bytes());
    const auto& driver = primary.driver();
    driver.require("record an event", driver.cuEventRecord, event.get(), stream.producer);
    was_running = driver.cuEventQuery(event.get()) == device::cuda::Result::not_ready;
    consume();
  }
  device.synchronize(stream.producer);
  CHECK_MESSAGE(was_running, "the work ended before each of 20 calls: nothing was seen");
}

template <class T>
std::vector<T> read(device::Device& device, const void* memory, std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  device.copy_to_host(values.data(), memory, count * std::int64_t{sizeof(T)}, device.own_stream());
  return values;
}

constexpr std::int64_t rows = 512, cols = 64;

std::vector<std::int32_t> one_each() {
  std::vector<std::int32_t> offsets(rows + 1);
  for (std::int64_t row = 0; row <= rows; ++row)
    offsets[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(row);
  return offsets;
}

}  // namespace

TEST_CASE("calls take the legacy stream and the thread's default stream by their handles") {
  on_every_device([](const Context& context) {
    for (const Stream stream : {legacy_stream, per_thread_stream}) {
      const SpmmOperands operands(context, sparse::uniform(128, 96, 0.8, 11), 32, 12);
      const Topology topology = context.topology(operands.csr.view(), stream);
      const SpmmPlan plan = context.plan(Spmm{.n = 32}, topology, {.stream = stream});
      plan.execute(stream, operands.arguments());
      CHECK(operands.error(stream) <= operands.tolerance());

      const SpmmPlan persistent = context.plan(Spmm{.n = 32, .value_lifetime = ValueLifetime::persistent}, topology);
      SpmmArguments arguments = operands.arguments();
      const PackedValues packed = persistent.pack(stream, arguments.values);
      arguments.values = nullptr;
      arguments.packed = packed;
      const Workspace workspace = persistent.make_workspace();
      arguments.workspace = workspace;
      persistent.execute(stream, arguments);
      CHECK(operands.error(stream) <= operands.tolerance());

      const PermutedTopology turned = transpose(topology, stream);
      CHECK(turned.topology.nonzeros() == topology.nonzeros());
      CHECK(make_mask(context, BandedMask{.rows = 16, .cols = 16, .width = 4}, stream).nonzeros() > 0);
    }
  });
}

TEST_CASE("a topology waits for index arrays that a default stream still fills") {
  on_every_gpu([](const std::string& name, const device::cuda::CudaContext& primary) {
    const Context context = test::memory_context(name);
    device::Device& device = device_of(context);
    const std::vector<std::int32_t> offsets = one_each();
    const device::Buffer device_offsets(device, std::int64_t{sizeof(std::int32_t)} * (rows + 1));
    device.copy_to_device(device_offsets.data(), offsets.data(), device_offsets.bytes());
    const device::Buffer columns(device, std::int64_t{sizeof(std::int32_t)} * rows);
    const device::Buffer linear(device, std::int64_t{sizeof(std::int32_t)} * rows);
    for (const DefaultStream& stream : default_streams)
      check_consumer(primary, device, stream, columns, 0, [&] {
        const CsrView csr{.rows = rows,
                          .cols = cols,
                          .row_offsets = device_offsets.as<std::int32_t>(),
                          .column_indices = columns.as<std::int32_t>()};
        const Topology topology = context.topology(csr, stream.given);  // invalid_topology where it does not wait
        linear_indices(topology, linear.as<std::int32_t>(), stream.given);
        device.synchronize(stream.given);
        const std::vector<std::int32_t> indices = read<std::int32_t>(device, linear.data(), rows);
        for (std::int64_t row = 0; row < rows; ++row) REQUIRE(indices[static_cast<std::size_t>(row)] == row * cols);
      });
  });
}

TEST_CASE("packing, tools and execute wait for values that a default stream still fills") {
  on_every_gpu([](const std::string& name, const device::cuda::CudaContext& primary) {
    const Context context = test::memory_context(name);
    device::Device& device = device_of(context);
    constexpr std::int64_t n = 32;
    const SpmmOperands operands(context, sparse::uniform(rows, cols, 0.7, 13), n, 14);
    const std::int64_t nonzeros = operands.csr.nonzeros();
    const Topology topology = context.topology(operands.csr.view());
    const device::Buffer values(device, nonzeros * std::int64_t{sizeof(float)});
    const device::Buffer dense(device, rows * cols * std::int64_t{sizeof(float)});
    const std::vector<float> known(static_cast<std::size_t>(nonzeros), produced);
    const auto reference = sparse::spmm(operands.csr, known, operands.dense, n, n);
    const auto check_product = [&](const void* output) {
      CHECK(sparse::relative_error(read<float>(device, output, rows * n), n, reference, rows, n) <=
            operands.tolerance());
    };
    const SpmmPlan persistent = context.plan(Spmm{.n = n, .value_lifetime = ValueLifetime::persistent}, topology);
    const SpmmPlan per_call = context.plan(Spmm{.n = n}, topology);
    const Workspace workspace = persistent.make_workspace();
    const Workspace call_workspace = per_call.make_workspace();
    for (const DefaultStream& stream : default_streams) {
      check_consumer(primary, device, stream, values, produced_byte, [&] {
        SpmmArguments arguments = operands.arguments();
        arguments.values = nullptr;
        const PackedValues packed = persistent.pack(stream.given, values.data());
        arguments.packed = packed;
        arguments.workspace = workspace;
        persistent.execute(stream.given, arguments);
        device.synchronize(stream.given);
        check_product(arguments.output);
      });
      check_consumer(primary, device, stream, values, produced_byte, [&] {
        SpmmArguments arguments = operands.arguments();
        arguments.values = values.data();
        arguments.workspace = call_workspace;
        per_call.execute(stream.given, arguments);
        device.synchronize(stream.given);
        check_product(arguments.output);
      });
      check_consumer(primary, device, stream, values, produced_byte, [&] {
        to_dense(topology, values.data(), {.data = dense.data()}, stream.given);
        device.synchronize(stream.given);
        std::int64_t seen = 0;
        for (const float value : read<float>(device, dense.data(), rows * cols)) seen += value == produced ? 1 : 0;
        CHECK(seen == nonzeros);
      });
      check_consumer(primary, device, stream, dense, 0, [&] {
        CHECK(sparse_above(context, {.data = dense.data(), .rows = rows, .cols = cols}, 0.0F, stream.given)
                  .topology.nonzeros() == 0);
      });
    }
  });
}

TEST_CASE("while a blocking stream is captured the legacy stream is refused, and the capture ends well") {
  on_every_gpu([](const std::string& name, const device::cuda::CudaContext& primary) {
    const Context context = test::memory_context(name);
    UserStream blocking(primary.driver());
    UserStream apart(primary.driver(), device::cuda::stream_non_blocking);
    const SpmmOperands operands(context, sparse::uniform(128, 128, 0.8, 15), 64, 16);
    const Topology topology = context.topology(operands.csr.view());
    const SpmmPlan plan = context.plan(Spmm{.n = 64}, topology);
    const SpmmPlan persistent = context.plan(Spmm{.n = 64, .value_lifetime = ValueLifetime::persistent}, topology);
    const Workspace workspace = plan.make_workspace();
    SpmmArguments arguments = operands.arguments();
    arguments.workspace = workspace;
    const auto use_legacy = [&] { persistent.pack(legacy_stream, arguments.values); };
    const auto capture_on = [&](UserStream& stream, bool refused) {
      stream.begin_capture();
      plan.execute(stream.get(), arguments);
      if (refused) CHECK(code_of(use_legacy) == ErrorCode::capture_active);
      else use_legacy();
      context.topology(operands.csr.view(), legacy_stream);  // host arrays: there is nothing to wait for
      context.plan(Spmm{.n = 64}, topology, {.stream = legacy_stream});
      stream.end_capture();  // throws where the capture was ended
      stream.replay();
      CHECK(operands.error(stream.get()) <= operands.tolerance());
    };
    capture_on(blocking, true);
    capture_on(apart, false);
    use_legacy();
  });
}

TEST_CASE("handles that go in another thread are released behind the work of the thread that executed") {
  on_every_gpu([](const std::string& name, const device::cuda::CudaContext&) {
    const Context context = test::memory_context(name);
    device::Device& device = device_of(context);
    const SlowWork slow(device);
    const SpmmOperands operands(context, sparse::uniform(1024, 1024, 0.9, 17), 64, 18);
    Topology topology = context.topology(operands.csr.view());
    SpmmPlan plan = context.plan(Spmm{.n = 64}, topology);
    const Workspace workspace = plan.make_workspace();
    SpmmArguments arguments = operands.arguments();
    arguments.workspace = workspace;
    const std::int64_t bytes = topology.device_bytes();
    std::promise<void> executed;
    const std::jthread user([&](const std::stop_token& stop) {
      try {
        slow.queue(per_thread_stream);
        plan.execute(per_thread_stream, arguments);
        executed.set_value();
      } catch (...) {
        executed.set_exception(std::current_exception());
      }
      while (!stop.stop_requested()) std::this_thread::yield();  // the stream lives as long as its thread
    });
    executed.get_future().get();
    plan = {};
    topology = {};
    // What was freed too early would be given out again, and overwritten.
    std::vector<device::Buffer> others;
    for (int i = 0; i < 8; ++i) {
      others.emplace_back(device, bytes);
      device.fill(device.own_stream(), others.back().data(), 0, bytes);
    }
    device.synchronize(device.own_stream());
    device.synchronize(nullptr);  // waits for every thread's default stream
    CHECK(operands.error() <= operands.tolerance());
  });
}
