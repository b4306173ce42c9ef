// A device that is not present: plans for it are decided and compiled, and nothing runs.
#include <cstdlib>
#include <cstring>

#include "base/text.hpp"
#include "device/cuda/nvrtc_compiler.hpp"
#include "device/offline/boards.hpp"

namespace vostok::device {

namespace {

struct KernelElsewhere final : Kernel {};

class CompileOnly final : public Device {
 public:
  CompileOnly(offline::Description description, std::shared_ptr<const Compiler> compiler)
      : description_(std::move(description)), compiler_(std::move(compiler)) {}

  bool only_compiles() const override { return true; }
  const DeviceInfo& info() const override { return description_.info; }
  int max_shared_bytes() const override { return description_.max_shared_bytes; }
  int shared_bytes_per_multiprocessor() const override { return description_.shared_bytes_per_multiprocessor; }
  int registers_per_multiprocessor() const override { return description_.registers_per_multiprocessor; }
  int threads_per_multiprocessor() const override { return description_.threads_per_multiprocessor; }

  /// Assumes a new driver; families check whether their architecture has tensor maps.
  bool has_tensor_maps() const override { return true; }
  const Compiler& compiler() const override { return *compiler_; }
  std::shared_ptr<const Kernel> load(const Image&, std::int64_t) override {
    return std::make_shared<const KernelElsewhere>();
  }
  void launch(Stream, const Kernel&, const LaunchShape&, const void*, std::size_t) const override {
    fail_absent("launch a kernel");
  }
  std::unique_ptr<TimedSequence> record(const std::function<void(Stream)>&) override { fail_absent("measure"); }

  // Memory has addresses but no content, since it is never touched.
  void* allocate(std::int64_t bytes) override {
    constexpr std::size_t alignment = 256;
    void* const memory =
        std::aligned_alloc(alignment, (static_cast<std::size_t>(bytes) + alignment - 1) / alignment * alignment);
    if (memory == nullptr)
      fail(ErrorCode::out_of_memory, "cannot allocate {} bytes of host memory for {}", bytes, info().name);
    return memory;
  }
  void release_behind(void* memory, const std::vector<Stream>&) noexcept override { std::free(memory); }
  void fill(Stream, void*, int, std::int64_t) const override {}
  void copy_to_device(void*, const void*, std::int64_t, Stream) override {}
  /// Counts that kernels would have written are unknown here; later steps are sized for a few of everything.
  void copy_to_host(void* destination, const void*, std::int64_t bytes, Stream) override {
    std::memset(destination, 0, static_cast<std::size_t>(bytes));
    if (bytes > 0) *static_cast<char*>(destination) = 1;
  }

  bool is_device_pointer(const void*) const override { return false; }
  bool is_capturing(Stream) const override { return false; }
  void synchronize(Stream) const override {}
  void wait_for(Stream) const override {}
  Stream own_stream() const override { return nullptr; }
  int occupancy(const Kernel&, int, std::int64_t) const override { return 1; }
  std::optional<Clocks> clocks() const override { return std::nullopt; }

 private:
  [[noreturn]] void fail_absent(const char* task) const {
    fail(ErrorCode::no_device, "cannot {} on {}: the context was opened to compile only", task, info().name);
  }

  offline::Description description_;
  std::shared_ptr<const Compiler> compiler_;
};

/// Compiles the emulator's kernels without running them.
std::shared_ptr<Device> compile_for_emulator() {
  const std::shared_ptr<Device> emulator = open_emulator({});
  return std::make_shared<CompileOnly>(
      offline::Description{.info = emulator->info(),
                           .max_shared_bytes = emulator->max_shared_bytes(),
                           .shared_bytes_per_multiprocessor = emulator->shared_bytes_per_multiprocessor(),
                           .registers_per_multiprocessor = emulator->registers_per_multiprocessor(),
                           .threads_per_multiprocessor = emulator->threads_per_multiprocessor()},
      std::shared_ptr<const Compiler>(emulator, &emulator->compiler()));
}

}  // namespace

std::shared_ptr<Device> open_compile_only(const std::string& what, const OpenOptions& options) {
  if (what == "emulator") return compile_for_emulator();
  return std::make_shared<CompileOnly>(offline::describe(what),
                                       std::make_shared<const cuda::NvrtcCompiler>(options.nvrtc));
}

}  // namespace vostok::device
