#include "device/emulator/emulator.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "base/host_memory.hpp"
#include "base/text.hpp"
#include "device/emulator/device_memory.hpp"
#include "device/emulator/host_compiler.hpp"
#include "device/emulator/kernel_library.hpp"
#include "device/emulator/recorder.hpp"
#include "device/emulator/worker_pool.hpp"

namespace vostok::device {
namespace emulator {
namespace {

// Limits of a large GPU (sm_90), so that rules admit what they admit on one.
constexpr int block_shared_bytes = 232448;
constexpr int multiprocessor_shared_bytes = 233472;
constexpr int reserved_shared_bytes = 1024;  // per block
constexpr int default_shared_bytes = 48 * 1024;
constexpr int multiprocessor_registers = 65536;
constexpr int multiprocessor_threads = 2048;
constexpr int multiprocessor_blocks = 32;
constexpr std::size_t most_argument_bytes = 4096;
constexpr unsigned most_grid_yz = 65535;

/// Each thread's stack needs two mappings, and a process may have 65,530.
constexpr int most_workers = 24;

int worker_count() { return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, most_workers); }

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(std::min(line.find(": ") + 2, line.size()));
  return "this host";
}

DeviceInfo describe_host() {
  DeviceInfo info;
  info.name = "emulator on " + processor_name();
  info.uuid = "emulator";
  info.architecture = "emulator";
  info.multiprocessors = worker_count();
  info.memory_bytes = machine_memory_bytes();
  info.l2_bytes = std::max(0L, sysconf(_SC_LEVEL3_CACHE_SIZE));
  info.driver = host_compiler_command();
  return info;
}

std::int64_t threads_of(Dim3 block) { return std::int64_t{block.x} * block.y * block.z; }

void check_shape(const KernelLibrary& kernel, const LaunchShape& shape) {
  const Dim3 grid = shape.grid;
  const std::int64_t threads = threads_of(shape.block);
  if (threads < 1 || threads > most_threads)
    fail(ErrorCode::device_failure, "cannot launch kernel {}: a block of {} threads, 1 to {} are possible",
         kernel.name(), threads, most_threads);
  if (grid.x < 1 || grid.x > 0x7fffffffU || grid.y < 1 || grid.y > most_grid_yz || grid.z < 1 || grid.z > most_grid_yz)
    fail(ErrorCode::device_failure, "cannot launch kernel {}: a grid of {} x {} x {} blocks is not possible",
         kernel.name(), grid.x, grid.y, grid.z);
  const std::int64_t limit = std::max<std::int64_t>(default_shared_bytes, kernel.most_shared_bytes());
  if (shape.shared_bytes < 0 || shape.shared_bytes > limit)
    fail(ErrorCode::device_failure, "cannot launch kernel {}: {} bytes of shared memory, it was loaded for {}",
         kernel.name(), shape.shared_bytes, limit);
  if (shape.cluster > 1)
    fail(ErrorCode::device_failure, "cannot launch kernel {}: the emulator has no clusters of blocks", kernel.name());
}

class Emulator final : public Device {
 public:
  Emulator(const OpenOptions& options, const Settings& settings)
      : settings_(settings),
        info_(describe_host()),
        memory_(settings.guard, options.allocator, info_.memory_bytes),
        pool_(worker_count(), block_shared_bytes) {}

  const DeviceInfo& info() const override { return info_; }
  int max_shared_bytes() const override { return block_shared_bytes; }
  int shared_bytes_per_multiprocessor() const override { return multiprocessor_shared_bytes; }
  int registers_per_multiprocessor() const override { return multiprocessor_registers; }
  int threads_per_multiprocessor() const override { return multiprocessor_threads; }

  const Compiler& compiler() const override {
    const std::lock_guard lock(compiler_mutex_);
    if (!compiler_) compiler_ = open_host_compiler();
    return *compiler_;
  }

  std::shared_ptr<const Kernel> load(const Image& image, std::int64_t shared_bytes) override {
    require_here("load kernel", image.symbol);
    if (shared_bytes > block_shared_bytes)
      fail(ErrorCode::device_failure, "cannot load kernel {}: it needs {} bytes of shared memory, a block has {}",
           image.symbol, shared_bytes, block_shared_bytes);
    return make_shared_here<const KernelLibrary>(image, shared_bytes);
  }

  void launch(Stream stream, const Kernel& kernel, const LaunchShape& shape, const void* arguments,
              std::size_t argument_bytes) const override {
    const auto& library = static_cast<const KernelLibrary&>(kernel);
    require_here("launch kernel", library.name());
    check_shape(library, shape);
    if (argument_bytes != library.argument_bytes() || argument_bytes > most_argument_bytes)
      fail(ErrorCode::device_failure, "cannot launch kernel {}: {} bytes of arguments given, its parameter has {}",
           library.name(), argument_bytes, library.argument_bytes());
    ArgumentBytes copy;
    std::memcpy(copy.data(), arguments, argument_bytes);
    recorder_.queue(stream, [this, &library, shape, copy] { run(library, shape, copy); });
  }

  void fill(Stream stream, void* memory, int value, std::int64_t bytes) const override {
    recorder_.queue(stream, [memory, value, bytes] { std::memset(memory, value, static_cast<std::size_t>(bytes)); });
  }

  void* allocate(std::int64_t bytes) override {
    require_here("allocate", "device memory");
    return memory_.allocate(bytes);
  }
  void release_behind(void* memory, const std::vector<Stream>&) noexcept override {
    if (is_here()) memory_.release(memory);
  }

  void copy_to_device(void* destination, const void* source, std::int64_t bytes, Stream) override {
    std::memcpy(destination, source, static_cast<std::size_t>(bytes));
  }
  void copy_to_host(void* destination, const void* source, std::int64_t bytes, Stream) override {
    std::memcpy(destination, source, static_cast<std::size_t>(bytes));
  }

  bool is_device_pointer(const void* pointer) const override { return memory_.contains(pointer); }
  bool is_capturing(Stream stream) const override { return recorder_.is_recording(stream); }
  void synchronize(Stream) const override {}
  void wait_for(Stream) const override {}
  Stream own_stream() const override { return nullptr; }

  int occupancy(const Kernel&, int threads, std::int64_t shared_bytes) const override {
    if (threads < 1 || threads > most_threads || shared_bytes > block_shared_bytes) return 0;
    const int warps = (threads + warp_lanes - 1) / warp_lanes;
    const auto by_shared = static_cast<int>(multiprocessor_shared_bytes / (shared_bytes + reserved_shared_bytes));
    return std::min({multiprocessor_blocks, multiprocessor_threads / (warps * warp_lanes), by_shared});
  }

  std::unique_ptr<TimedSequence> record(const std::function<void(Stream)>& enqueue) override {
    return recorder_.record(enqueue);
  }
  std::optional<Clocks> clocks() const override { return std::nullopt; }
  std::optional<LaunchProgress> progress() const override { return pool_.progress(); }

 private:
  /// Aligned for any parameter; the size is a GPU's limit.
  struct alignas(64) ArgumentBytes : std::array<unsigned char, most_argument_bytes> {};

  void run(const KernelLibrary& library, const LaunchShape& shape, const ArgumentBytes& arguments) const {
    char finished = 0;
    pool_.run({.kernel_name = library.name(),
               .kernel = library.run(),
               .slot = library.slot(),
               .arguments = arguments.data(),
               .grid = {shape.grid.x, shape.grid.y, shape.grid.z},
               .block = {shape.block.x, shape.block.y, shape.block.z},
               .shared_bytes = static_cast<std::size_t>(shape.shared_bytes),
               .order = settings_.order,
               .finished = &finished});
  }

  Settings settings_;
  DeviceInfo info_;
  mutable std::mutex compiler_mutex_;
  mutable std::unique_ptr<const Compiler> compiler_;
  DeviceMemory memory_;
  mutable WorkerPool pool_;
  mutable Recorder recorder_;
};

}  // namespace

std::shared_ptr<Device> open_emulator(const OpenOptions& options, const Settings& settings) {
  return make_shared_here<Emulator>(options, settings);
}

}  // namespace emulator

std::shared_ptr<Device> open_emulator(const OpenOptions& options) {
  return emulator::open_emulator(options, emulator::settings_from_environment());
}

}  // namespace vostok::device
