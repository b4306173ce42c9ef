// A device compiles, loads, launches, allocates, copies and times. Two implementations: cuda/ (the driver
// API and NVRTC) and emulator/ (the host compiler and fibers). Nothing above this room knows which one it has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <vostok/context.hpp>

#include <abi/tensor_map.h>

#include "base/process_mark.hpp"

namespace vostok::device {

struct Dim3 {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
};

/// One included file: the name as written in `#include "..."`, and its text.
struct Header {
  std::string_view name;
  std::string_view text;
};

/// One kernel to compile. `text` is the main file (it includes the family's template); `expression` is the
/// specialisation, e.g. "vostok::row_tile<vostok::Fixed<...>>". `headers` is the include closure in dependency order.
struct Source {
  std::string family = {};
  std::string text = {};
  std::string expression = {};
  std::vector<Header> headers = {};
  std::string architecture = {};  ///< "sm_90", "sm_90a", ... ; ignored by the emulator
};

/// A compiled kernel: what code.db stores.
struct Image {
  std::string binary = {};       ///< cubin, PTX or host shared object
  std::string symbol = {};       ///< lowered name to look up
  int registers = 0;             ///< per thread; 0 if unknown (emulator)
  std::int64_t spill_bytes = 0;  ///< stores + loads
  std::int64_t stack_bytes = 0;
  std::int64_t static_shared_bytes = 0;
  std::vector<std::string> warnings = {};  ///< compiler messages that mean slow or serialised code
};

/// Compiles without a device. Thread-safe.
class Compiler {
 public:
  virtual ~Compiler() = default;
  /// Version and build, e.g. "nvrtc 13.0.88"; on the emulator compiler, version, flags and sanitizer.
  virtual std::string identity() const = 0;
  /// Options that change the code and contain no path: part of the code key on every device.
  virtual std::vector<std::string> options() const = 0;
  /// Whether `identity` is part of the code key (emulator) or only recorded (NVRTC).
  virtual bool identity_in_key() const = 0;
  /// Errors: compile_failed with the compiler's log, no_compiler naming every path searched.
  virtual Image compile(const Source& source) const = 0;
};

/// Everything that determines machine code besides the source; all of it is in the code key. On a GPU it is known
/// without opening a compiler.
struct CodeTarget {
  std::string architecture = {};
  std::vector<std::string> options = {};  ///< only options that change code; no paths
  std::string compiler = {};              ///< the compiler's identity if it is part of the key (emulator), else empty
};

/// A loaded kernel. Unloaded with its last owner, which a context delays until its end.
class Kernel {
 public:
  virtual ~Kernel() = default;
};

struct LaunchShape {
  Dim3 grid = {};
  Dim3 block = {};
  std::int64_t shared_bytes = 0;
  bool waits_for_previous = false;  ///< programmatic dependent launch: the kernel waits by itself
  unsigned cluster = 1;             ///< blocks along the grid's y that run as one cluster (sm_90): a divisor of grid.y
};

/// A recorded sequence of launches that can be replayed and timed (a CUDA graph; on the emulator a function).
class TimedSequence {
 public:
  virtual ~TimedSequence() = default;
  /// Replays once; microseconds from start to end.
  virtual double replay_us() = 0;
};

/// The clocks during measurements; absent if the device cannot tell.
struct Clocks {
  int sm_mhz = 0;
  int memory_mhz = 0;
};

/// The progress of a device through its launches.
struct LaunchProgress {
  std::int64_t ended = 0;            ///< launches that are done
  std::optional<double> share = {};  ///< of the current launch, 0 to 1; absent: there is none
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  /// Whether the device is not present, so that nothing runs: kernels are compiled for it, its memory is never
  /// touched (open_compile_only).
  virtual bool only_compiles() const { return false; }
  /// Throws after_fork in a child of the process that opened the device, which has neither its threads nor its CUDA
  /// context. Costs one load and no system call. `what` and `object` are the caller's purpose: "plan SpMM", or
  /// "execute" and "SpMM".
  void require_here(std::string_view what, std::string_view object = {}) const {
    if (!is_here()) [[unlikely]]
      fail_after_fork(what, object);
  }
  /// Whether this process opened it. If not, what was loaded and allocated is left alone.
  bool is_here() const { return process_.is_here(); }
  /// Target for compilers: "sm_90" or "emulator".
  const std::string& architecture() const { return info().architecture; }
  virtual int max_shared_bytes() const = 0;  ///< per block, opt-in limit
  virtual int shared_bytes_per_multiprocessor() const = 0;
  virtual int registers_per_multiprocessor() const = 0;
  virtual int threads_per_multiprocessor() const = 0;

  /// Opened on first use; throws no_compiler naming every path searched.
  virtual const Compiler& compiler() const = 0;
  CodeTarget code_target() const {
    return {.architecture = architecture(),
            .options = compiler().options(),
            .compiler = compiler().identity_in_key() ? compiler().identity() : std::string()};
  }
  /// Loads eagerly and raises the dynamic shared memory limit to `shared_bytes`.
  virtual std::shared_ptr<const Kernel> load(const Image& image, std::int64_t shared_bytes) = 0;
  /// Queues one launch; `arguments` is the kernel's one by-value parameter. The hot path: no lock, no allocation.
  virtual void launch(Stream stream, const Kernel& kernel, const LaunchShape& shape, const void* arguments,
                      std::size_t argument_bytes) const = 0;
  /// Whether it has tensor maps (abi/tensor_map.h).
  virtual bool has_tensor_maps() const { return false; }
  /// Makes the map that `map.boxes` describes, in place. No lock, no allocation, legal in capture. Errors:
  /// device_failure naming the request, internal if there are no tensor maps.
  virtual void make_map(TensorMap& map) const;
  /// Queues `bytes` of `value` at `memory`; legal in capture.
  virtual void fill(Stream stream, void* memory, int value, std::int64_t bytes) const = 0;

  /// 256-byte aligned device memory, from the allocator of the options if there is one. out_of_memory names the bytes.
  virtual void* allocate(std::int64_t bytes) = 0;
  /// Frees after all work queued so far on `streams` (those of executes that used the memory). Never blocks the host on
  /// the GPU. Does nothing in a child process.
  virtual void release_behind(void* memory, const std::vector<Stream>& streams) noexcept = 0;

  /// Copies and fills below return when done, on the library's own stream after work queued so far on `after`.
  virtual void copy_to_device(void* destination, const void* source, std::int64_t bytes, Stream after = nullptr) = 0;
  virtual void copy_to_host(void* destination, const void* source, std::int64_t bytes, Stream after = nullptr) = 0;

  virtual bool is_device_pointer(const void* pointer) const = 0;
  /// Whether the stream itself is being captured.
  virtual bool is_capturing(Stream stream) const = 0;
  virtual void synchronize(Stream stream) const = 0;
  /// Orders later work on the library's own stream after the work queued so far on `after`; nullptr waits for nothing.
  /// Errors: capture_active for legacy_stream while a blocking stream is captured.
  virtual void wait_for(Stream after) const = 0;
  /// The library's own non-blocking stream.
  virtual Stream own_stream() const = 0;

  /// Resident blocks of this kernel on one SM (0: cannot launch).
  virtual int occupancy(const Kernel& kernel, int threads, std::int64_t shared_bytes) const = 0;
  /// Records what `enqueue` puts on the stream it is given; it is called once. Kernels and memory must outlive the
  /// sequence.
  virtual std::unique_ptr<TimedSequence> record(const std::function<void(Stream)>& enqueue) = 0;
  virtual std::optional<Clocks> clocks() const = 0;
  /// For progress messages: called from any thread while another launches. Absent on fast devices (a GPU).
  virtual std::optional<LaunchProgress> progress() const { return std::nullopt; }

 private:
  [[noreturn]] void fail_after_fork(std::string_view what, std::string_view object) const;

  ProcessMark process_;
};

/// Device memory with one owner; no queued work may use it when it is destroyed.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device& device, std::int64_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  void* data() const { return data_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::int64_t bytes() const { return bytes_; }
  explicit operator bool() const { return data_ != nullptr; }
  /// Gives the memory away: the new owner releases it.
  void* release();

 private:
  Device* device_ = nullptr;
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

/// The options that opening a device needs.
struct OpenOptions {
  CUctx_st* cuda_context = nullptr;
  std::shared_ptr<Allocator> allocator = {};
  std::optional<std::filesystem::path> nvrtc = {};
};

/// "cuda:I"; -1 is the device of options.cuda_context. Errors: no_device naming what was tried, wrong_device if the
/// given context is on another device.
std::shared_ptr<Device> open_cuda(int ordinal, const OpenOptions& options);
/// Number of usable GPUs; `why` gets the reason if it is 0.
int count_cuda(std::string* why);
/// Always available, but its compiler may not be (no_compiler on first compile).
std::shared_ptr<Device> open_emulator(const OpenOptions& options);

/// A GPU that is not present, by name, architecture or fields (offline::describe), or "emulator": for packing kernels.
/// Launches and measurements are no_device. NVRTC is opened on first use. Errors: invalid_argument.
std::shared_ptr<Device> open_compile_only(const std::string& what, const OpenOptions& options);

/// A compiler with no device: NVRTC for any architecture. Errors: no_compiler.
std::shared_ptr<const Compiler> open_nvrtc(const std::optional<std::filesystem::path>& explicit_path);
/// Architectures ("sm_75", ...) that this NVRTC knows, ascending.
std::vector<std::string> nvrtc_architectures(const Compiler& nvrtc);

/// For `vostok doctor`: each place searched, in order, and what was found there.
struct Finding {
  std::string what = {};  ///< "driver", "nvrtc", ...
  std::string where = {};
  std::string state = {};  ///< "found, version 13.0", "not there", the loader's error
  bool used = false;
};
std::vector<Finding> find_cuda(const OpenOptions& options);

}  // namespace vostok::device
