// Training with masks that are pruned and regrown: memory stays constant, nothing is compiled again.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>
#include <span>

#include "device/devices.hpp"
#include "device/kernel_devices.hpp"
#include "sparse/reference.hpp"

using namespace vostok;
using test::Floats;

namespace {

constexpr std::uint64_t seed = 31;

/// Counts the library's device memory. It comes from another device object on the same GPU, or from the host for the
/// emulator.
class CountingAllocator : public Allocator {
 public:
  explicit CountingAllocator(const std::string& name) {
    if (name != "emulator") memory_ = device::open_cuda(std::stoi(name.substr(name.find(':') + 1)), {});
  }

  void* allocate(std::int64_t bytes) override {
    void* const memory = memory_ ? memory_->allocate(bytes)
                                 : std::aligned_alloc(256, static_cast<std::size_t>((bytes + 255) / 256 * 256));
    const std::lock_guard lock(mutex_);
    sizes_[memory] = bytes;
    live_bytes_ += bytes;
    return memory;
  }
  void release(void* memory) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      live_bytes_ -= sizes_[memory];
      sizes_.erase(memory);
    }
    if (memory_) memory_->release_behind(memory, {});
    else std::free(memory);  // NOLINT: the emulator's memory is the host's
  }

  std::int64_t live_bytes() const {
    const std::lock_guard lock(mutex_);
    return live_bytes_;
  }

 private:
  std::shared_ptr<device::Device> memory_;
  mutable std::mutex mutex_;
  std::map<void*, std::int64_t> sizes_;
  std::int64_t live_bytes_ = 0;
};

/// A mask whose arrays lie on the device, as a training loop has it.
class DeviceMask {
 public:
  DeviceMask(device::Device& device, const sparse::Csr& csr)
      : rows_(csr.rows),
        cols_(csr.cols),
        offsets_(device, static_cast<std::int64_t>(csr.row_offsets.size() * sizeof(std::int64_t))),
        columns_(device, static_cast<std::int64_t>(csr.column_indices.size() * sizeof(std::int32_t))) {
    device.copy_to_device(offsets_.data(), csr.row_offsets.data(), offsets_.bytes());
    device.copy_to_device(columns_.data(), csr.column_indices.data(), columns_.bytes());
  }
  CsrView view() const {
    return {.rows = rows_,
            .cols = cols_,
            .row_offsets = offsets_.as<const std::int64_t>(),
            .column_indices = columns_.as<const std::int32_t>()};
  }

 private:
  std::int64_t rows_;
  std::int64_t cols_;
  device::Buffer offsets_;
  device::Buffer columns_;
};

/// The plans of one layer: forward, the gradient of its input, the gradient of its weights.
struct LayerPlans {
  SpmmPlan forward;
  SpmmPlan transposed;
  SddmmPlan sampled;

  LayerPlans(const Context& context, const Topology& mask, std::int64_t samples)
      : forward(context.plan(Spmm{.n = samples}, mask)),
        transposed(context.plan(Spmm{.n = samples, .sparse_transposed = true}, mask)),
        sampled(context.plan(Sddmm{.n = samples}, mask)) {}

  void rebind(const Topology& mask) {
    forward = forward.rebind(mask);
    transposed = transposed.rebind(mask);
    sampled = sampled.rebind(mask);
  }
};

}  // namespace

TEST_CASE("two layers whose masks are regrown 200 times keep their memory, compile nothing, and stay right") {
  constexpr int regrown = test::thread_sanitized ? 4 : 200;
  constexpr std::int64_t samples = 8;
  constexpr std::int64_t rows[] = {48, 24}, cols[] = {40, 48};
  for (const std::string& name : test::device_names()) {
    CAPTURE(name);
    const auto allocator = std::make_shared<CountingAllocator>(name);
    const Context context(Options{
        .device = name, .allocator = allocator, .cache = {.enabled = false}, .log = [](LogLevel, std::string_view) {}});
    device::Device& memory = test::device_of(context);
    const auto mask_of = [&](int layer, int round) {
      return sparse::uniform(rows[layer], cols[layer], 0.9, seed + static_cast<std::uint64_t>(2 * round + layer));
    };
    const std::vector<float> values = sparse::normal_values(rows[0] * cols[0], seed),
                             dense = sparse::normal_values(64 * samples, seed + 1);
    const Floats device_values(memory, values), device_dense(memory, dense);
    const Floats output(memory, std::vector<float>(64 * samples, NAN));

    std::vector<LayerPlans> plans;
    std::int64_t settled_bytes = 0;
    std::int64_t compiled = 0;
    for (int round = 0; round <= regrown; ++round) {
      for (int layer = 0; layer < 2; ++layer) {
        const sparse::Csr csr = mask_of(layer, round);
        const Topology mask = context.topology(DeviceMask(memory, csr).view());
        if (round == 0) plans.emplace_back(context, mask, samples);
        else plans[static_cast<std::size_t>(layer)].rebind(mask);
        LayerPlans& of = plans[static_cast<std::size_t>(layer)];
        of.transposed.execute(nullptr,
                              {.values = device_values.data(), .dense = device_dense.data(), .output = output.data()});
        of.sampled.execute(nullptr, {.lhs = device_dense.data(), .rhs = device_dense.data(), .output = output.data()});
        of.forward.execute(nullptr,
                           {.values = device_values.data(), .dense = device_dense.data(), .output = output.data()});
        memory.synchronize(nullptr);
        if (round % 50 == 0) {
          std::vector<float> found = output.read();
          found.resize(static_cast<std::size_t>(csr.rows * samples));
          const std::vector<double> wanted = sparse::spmm(
              csr, std::span(values).first(static_cast<std::size_t>(csr.nonzeros())), dense, samples, samples);
          CHECK(sparse::relative_error(found, samples, wanted, csr.rows, samples) < 1e-6);
        }
      }
      if (round == 2) settled_bytes = allocator->live_bytes();
      if (round == 0) compiled = context.counters().kernels_compiled;
      if (round > 2) REQUIRE(allocator->live_bytes() == settled_bytes);
      if (round > 0) REQUIRE(context.counters().kernels_compiled == compiled);
    }
    CHECK(settled_bytes > 0);
  }
}
