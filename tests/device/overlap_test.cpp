// Calls that follow each other on a stream without a wait between, each reading what the one before wrote: where
// kernels start while the one before still runs (programmatic dependent launch) none may look too early, or write too
// early. On GPUs alone: the emulator runs one kernel after the other.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "device/devices.hpp"
#include "ops/family.hpp"
#include "sparse/elements.hpp"

using namespace vostok;
using test::device_of;

namespace {

constexpr std::uint64_t seed = 97;

template <class Test>
void on_every_gpu(Test&& body) {
  for (const std::string& name : test::device_names()) {
    if (name == "emulator") continue;
    CAPTURE(name);
    body(test::memory_context(name));
  }
}

/// Bytes in device memory.
class Bytes {
 public:
  Bytes(device::Device& device, std::vector<std::byte> bytes)
      : device_(&device), initial_(std::move(bytes)), buffer_(device, std::ssize(initial_)) {
    reset();
  }
  void reset() { device_->copy_to_device(buffer_.data(), initial_.data(), buffer_.bytes()); }
  std::vector<std::byte> read() const {
    std::vector<std::byte> bytes(initial_.size());
    device_->copy_to_host(bytes.data(), buffer_.data(), buffer_.bytes(), device_->own_stream());
    return bytes;
  }
  void* data() const { return buffer_.data(); }

 private:
  device::Device* device_;
  std::vector<std::byte> initial_;
  device::Buffer buffer_;
};

/// Random numbers whose products with `length` others are of size 1 again.
std::vector<std::byte> numbers(Dtype element, std::int64_t count, double length, std::uint64_t of) {
  std::vector<float> values = sparse::normal_values(count, of);
  for (float& value : values) value = static_cast<float>(value / std::sqrt(length));
  return sparse::to_storage(element, values);
}

constexpr int calls = 60;

/// What `calls` of execute(i) leave in `last`: queued without a wait, and with one after each. They are the same.
void check_same(device::Device& device, const std::vector<Bytes*>& outputs, const Bytes& last,
                const std::function<void(int)>& overlapped, const std::function<void(int)>& apart) {
  const auto result = [&](const std::function<void(int)>& execute, bool waits) {
    for (Bytes* output : outputs) output->reset();
    device.synchronize(device.own_stream());
    for (int i = 0; i < calls; ++i) {
      execute(i);
      if (waits) device.synchronize(device.own_stream());
    }
    return last.read();
  };
  const std::vector<std::byte> wanted = result(apart, true);
  for (int round = 0; round < 5; ++round) CHECK(result(overlapped, false) == wanted);
}

/// A, of two sets of values in turn, times what the call before made of it.
void check_products(const Context& context, const Topology& topology, const Spmm& problem,
                    std::string_view family_name) {
  const std::string family(family_name);
  device::Device& device = device_of(context);
  const TopologyStatistics& statistics = topology.statistics();
  const SpmmPlan plan = context.plan(problem, topology, {.effort = Effort::heuristic, .family = family});
  const SpmmPlan apart =
      context.plan(problem, topology, {.effort = Effort::heuristic, .family = family, .overlap_calls = false});
  const Bytes first_values(device, numbers(problem.element, statistics.nonzeros, statistics.mean_row, seed));
  const Bytes second_values(device, numbers(problem.element, statistics.nonzeros, statistics.mean_row, seed + 1));
  std::array<Bytes, 2> operands = {Bytes(device, numbers(problem.element, statistics.cols * problem.n, 1, seed + 2)),
                                   Bytes(device, numbers(problem.element, statistics.rows * problem.n, 1, seed + 3))};
  std::array<PackedValues, 2> packed;
  const bool packs = problem.value_lifetime == ValueLifetime::persistent;
  if (packs) packed = {plan.pack(nullptr, first_values.data()), plan.pack(nullptr, second_values.data())};
  const Workspace workspace = plan.make_workspace();
  const auto execute = [&](const SpmmPlan& with, int i) {
    SpmmArguments call{.dense = operands[i % 2].data(), .output = operands[1 - i % 2].data(), .workspace = workspace};
    if (packs) call.packed = packed[i / 2 % 2];
    else call.values = (i / 2 % 2 == 0 ? first_values : second_values).data();
    with.execute(device.own_stream(), call);
  };
  check_same(
      device, {&operands[0], &operands[1]}, operands[calls % 2], [&](int i) { execute(plan, i); },
      [&](int i) { execute(apart, i); });
}

}  // namespace

TEST_CASE("products that follow each other give what they give one by one, in every family") {
  INFO("seed " << seed);
  on_every_gpu([](const Context& context) {
    constexpr std::int64_t size = 1024;
    const Topology topology = context.topology(sparse::uniform(size, size, 0.8, seed).view());
    int checked = 0;
    for (const auto& family : ops::families("spmm"))
      for (const Dtype element : {Dtype::f32, Dtype::f16})
        for (const std::int64_t n : {2, 16, 128})
          for (const ValueLifetime lifetime : {ValueLifetime::persistent, ValueLifetime::per_call}) {
            const Spmm problem{.n = n, .element = element, .value_lifetime = lifetime};
            CAPTURE(family->name());
            CAPTURE(name(element));
            CAPTURE(n);
            CAPTURE(name(lifetime));
            try {
              check_products(context, topology, problem, family->name());
              ++checked;
            } catch (const Error& error) {
              CHECK_MESSAGE(error.code() == ErrorCode::unsupported, error.what());  // the family does not serve it
            }
          }
    CHECK(checked >= 40);
  });
}

TEST_CASE("attention whose queries are what the call before gave is what it is one by one") {
  INFO("seed " << seed);
  on_every_gpu([](const Context& context) {
    device::Device& device = device_of(context);
    constexpr std::int64_t size = 1024;
    constexpr std::int64_t n = 64;
    const Topology topology = context.topology(sparse::uniform(size, size, 0.8, seed).view());
    for (const Dtype element : {Dtype::f32, Dtype::f16}) {
      CAPTURE(name(element));
      const SparseAttention problem{.n = n, .element = element};
      const AttentionPlan plan = context.plan(problem, topology, {.effort = Effort::heuristic});
      const AttentionPlan apart =
          context.plan(problem, topology, {.effort = Effort::heuristic, .overlap_calls = false});
      const Bytes key(device, numbers(element, size * n, 1, seed + 1));
      const Bytes value(device, numbers(element, size * n, 1, seed + 2));
      std::array<Bytes, 2> turns = {Bytes(device, numbers(element, size * n, 1, seed + 3)),
                                    Bytes(device, numbers(element, size * n, 1, seed + 4))};
      const Workspace workspace = plan.make_workspace();
      const auto execute = [&](const AttentionPlan& with, int i) {
        with.execute(device.own_stream(), {.query = turns[i % 2].data(),
                                           .key = key.data(),
                                           .value = value.data(),
                                           .output = turns[1 - i % 2].data(),
                                           .workspace = workspace});
      };
      check_same(
          device, {&turns[0], &turns[1]}, turns[calls % 2], [&](int i) { execute(plan, i); },
          [&](int i) { execute(apart, i); });
    }
  });
}
