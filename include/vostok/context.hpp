// A context: one device, the cache layers, and everything made from them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <vostok/error.hpp>
#include <vostok/packed.hpp>
#include <vostok/plan.hpp>
#include <vostok/prepare.hpp>
#include <vostok/problem.hpp>
#include <vostok/topology.hpp>

struct CUctx_st;

namespace vostok {

/// Serves the library's device memory, so that it can live in a framework's pool. Called from any thread.
class Allocator {
 public:
  virtual ~Allocator() = default;
  virtual void* allocate(
      std::int64_t bytes) = 0;  ///< 256-byte aligned, which is checked; nullptr when there is none left
  virtual void release(void* memory) noexcept = 0;  ///< no queued work uses it any more
};

enum class LogLevel { info, warning };

/// Where tuned choices and compiled kernels are kept.
struct CacheOptions {
  bool enabled = true;  ///< false: memory only
  std::optional<std::filesystem::path> folder =
      {};  ///< default: VOSTOK_CACHE_DIR, XDG_CACHE_HOME/vostok, HOME/.cache/vostok
  /// Further cache files, or folders of them, searched after `folder`; the first match wins. Their rows are always
  /// read. Their kernels are used only if nobody but root and this user can have written the file, or if it is signed
  /// (trusted_keys; cache/README.md).
  std::vector<std::filesystem::path> read_only = {};
  bool environment = true;  ///< search the files named by VOSTOK_READ_ONLY_CACHE (separated by colons) after those
  bool allow_network_folder = false;  ///< write to a cache folder on a network file system
  std::optional<std::filesystem::path> shipped =
      {};  ///< folder of the files that come with the library; default: share/vostok of its prefix
  std::int64_t max_code_bytes = std::int64_t{512}
                                << 20;  ///< bound on the user's code.db; the longest unused kernels go first
  /// Ed25519 public keys, as digits or a file (`vostok cache keygen`). If there are any, kernels of read-only and
  /// shipped files are used only if one of the keys made FILE.sig, wherever the file lies. Such a file is read into
  /// memory whole, 512 MiB at most.
  std::vector<std::string> trusted_keys = {};
  int lock_timeout_ms = 5000;  ///< how long to wait for another process before the cache is skipped
};

/// Where efforts quick and full run machine code that has not passed verification before.
enum class FirstRun {
  worker,  ///< in a process of its own (`vostok tune-worker`), which is ended if the code hangs, faults or corrupts
           ///< memory
  this_process  ///< in this process: for benchmarks and tests that can lose the context. Outputs are verified only at
                ///< the end of the race
};

/// How efforts quick and full run code that was never verified.
struct WorkerOptions {
  FirstRun first_run = FirstRun::worker;
  /// The tool. Default: VOSTOK_TOOL, else `vostok` from an absolute folder of PATH, if that is not this program. Both
  /// variables are ignored if privileges are raised. Without a tool such code is not tried, and explain() says so.
  std::optional<std::filesystem::path> tool = {};
  /// A candidate that gives no answer within this time counts as hung; choices in use, and defaults that may win, get
  /// ten times as long. Time during which the worker is stopped, or this process does not run, does not count.
  double timeout_seconds = 30;
};

/// Whether a plan may call a compiler.
enum class CompilePolicy { allow, never };

struct Options {
  /// "auto" (a GPU if there is one, else the emulator), "cuda:I", "emulator", or "compile:NAME" for a device that is
  /// not present: plans compile but cannot execute, measure or read back a topology. NAME is an architecture ("sm_80"),
  /// a GPU ("NVIDIA H200"), its fields or "emulator" (`vostok pack`).
  std::string device = "auto";
  bool allow_emulator = true;        ///< false: "auto" without a GPU is no_device
  CUctx_st* cuda_context = nullptr;  ///< a CUcontext to live in; default: the device's primary context
  std::shared_ptr<Allocator> allocator = {};
  std::int64_t max_workspace_bytes = std::int64_t{1} << 30;  ///< candidates that need more are not admitted
  CacheOptions cache = {};
  CompilePolicy compile = CompilePolicy::allow;
  /// Races a choice that was tuned on another model of GPU, or one of another size, against the default before its
  /// first use, for at most 2 ms. The faster is used and kept in the user's layer; the tuned choice stays if they tie
  /// or the race has too little time or memory. Efforts quick and full measure anew instead.
  bool check_shipped = false;
  /// Restricts plans to choices tuned for exactly their problem on a device of this kind: no neighbours, no heuristic,
  /// no measurement. Choices tuned for the same operation without what is fused to it (a product's epilogue, a scale)
  /// count too. Every effort acts as `cached`. If there is no such choice, plan() fails with missing_choice.
  bool cache_only = false;
  std::optional<std::filesystem::path> nvrtc = {};  ///< libnvrtc to use; default: searched for
  int compile_threads = 0;                          ///< 0: one per core
  /// Receives one line at a time, from any thread, and from several at once; it may call the library. Default: warnings
  /// and the emulator notice go to stderr.
  std::function<void(LogLevel, std::string_view)> log = {};
  WorkerOptions worker = {};
};

struct PlanOptions {
  Effort effort = Effort::cached;
  Stream stream = nullptr;  ///< checked for capture; the plan is ready for any stream
  double budget_seconds =
      30;  ///< for quick and full: no new measurement starts after this time. All choices of a plan share it
  std::uint64_t seed = 1;  ///< of the tuner's operands and order
  std::string family =
      {};  ///< considers only this kernel family (Explanation::family); empty: all. Its choices are stored separately
  std::function<void(const std::string&)> progress = {};  ///< one line at a time, with the time left
  Policy policy = Policy::warm;  ///< which choices are looked up, and what quick and full measure
  std::function<bool()> stop =
      {};  ///< polled between measurements: true ends tuning as the budget does, and keeps what was measured
  /// Lets a call start while the preceding kernel on the stream ends, if that kernel allows it, as this library's do
  /// (programmatic dependent launch, sm_90). The call waits before it reads or writes what any kernel may have written.
  /// false: it starts afterwards.
  bool overlap_calls = true;
  /// Restricts choices to those that read packed values of this format (PackedValues::format), for values packed
  /// earlier; empty: all. Needs a problem whose value_lifetime is persistent. Errors: invalid_argument (not a format,
  /// another problem), unsupported (no family reads it there).
  std::string packed_format = {};
};

/// What this context did so far.
struct Counters {
  std::int64_t kernels_compiled = 0;
  std::int64_t compile_us = 0;   ///< in the compiler, summed over the threads that compiled
  std::int64_t code_hits = 0;    ///< kernels found in a code layer
  std::int64_t tuning_hits = 0;  ///< decisions found in a tuning layer
  std::int64_t tuning_misses = 0;
  std::int64_t invalid_rows = 0;     ///< stored configs that today's rules forbid
  std::int64_t cache_warnings = 0;   ///< degradations: each was logged once
  std::int64_t memo_hits = 0;        ///< decisions already made in this process
  std::int64_t trials_measured = 0;  ///< candidates that quick and full efforts measured
};

/// The device as the library sees it.
struct DeviceInfo {
  std::string name = {};
  std::string uuid = {};
  std::string architecture = {};  ///< "sm_90", or "emulator"
  bool gpu = false;
  int multiprocessors = 0;
  int clock_mhz = 0;  ///< highest
  int memory_clock_mhz = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  std::string driver = {};       ///< "13.0", or the host compiler on the emulator
  double peak_fp32_gflops = 0;   ///< 0: unknown
  double peak_bandwidth_gb = 0;  ///< 0: unknown
};

class ContextState;

/// A handle: cheap to copy, shared, thread-safe. Using one that was moved from is invalid_argument. Calls throw an
/// Error, or whatever a user's function throws. Neither a context nor anything made from it survives fork: in the
/// child, calls that need the device or the caches are after_fork. Handles may be destroyed there; what they hold
/// leaks.
class Context {
 public:
  Context();  ///< default options
  /// Errors: invalid_argument (an option that makes no sense, by name), no_device, io_failure.
  explicit Context(const Options& options);

  /// Copies and validates a CSR structure; ready for any stream on return. Arrays in device memory are read behind the
  /// work queued so far on `stream`; with nullptr they must be complete (legacy_stream waits for the legacy stream's
  /// work). Errors: invalid_topology (names row and value), invalid_argument, unsupported, capture_active,
  /// out_of_memory.
  Topology topology(const CsrView& csr, Stream stream = nullptr) const;

  /// Decides, compiles and loads. Spmm, Sddmm, Softmax, SoftmaxBackward, SparseAttention and SparseAttentionBackward
  /// are planned with a topology; DepthwiseConvolution, BiasActivation and Im2col without. Errors: invalid_argument,
  /// unsupported, wrong_device, capture_active, no_compiler, missing_kernel, missing_choice, out_of_memory.
  template <class Problem>
    requires Problem::masked
  Plan<Problem> plan(const Problem& problem, const Topology& topology, const PlanOptions& options = {}) const;
  template <class Problem>
    requires(!Problem::masked)
  Plan<Problem> plan(const Problem& problem, const PlanOptions& options = {}) const;

  /// Plans every problem and drops the plans: a later plan() finds the decision made, the kernels loaded and the
  /// topology's forms derived. Problems are planned in parallel (Options::compile_threads), so that their kernels
  /// compile in parallel, but one at a time if effort quick or full measures. The result has an entry for each problem:
  /// nothing, or why it cannot be planned. Errors: capture_active.
  std::vector<std::optional<Error>> prepare(std::span<const Preparation> problems,
                                            const PlanOptions& options = {}) const;

  /// Loads packed values as PackedValues::save wrote them, for the topology that they were packed for or one of the
  /// same structure. Bytes of unknown origin are safe: whatever kernels use to find their way is compared with what the
  /// packing kernel makes of the topology. Errors: io_failure (no such file, a folder or pipe, of a newer version, cut
  /// short, damaged, nonzeros in other places than the topology's), format_mismatch (another structure), wrong_device,
  /// invalid_argument, unsupported, no_compiler, missing_kernel, out_of_memory.
  PackedValues load_packed(const Topology& topology, std::span<const std::byte> bytes) const;
  PackedValues load_packed(const Topology& topology, const std::filesystem::path& path) const;
  /// As above, without a topology: one is made on this device from the structure that was saved with the values
  /// (PackedValues::topology), so that no CSR arrays are needed. Memory use stays proportional to the number of bytes.
  /// Errors: as above; io_failure if no structure was saved with them (version 1 of the saved form), or it is damaged.
  PackedValues load_packed(std::span<const std::byte> bytes, const LoadOptions& options = {}) const;
  PackedValues load_packed(const std::filesystem::path& path, const LoadOptions& options = {}) const;

  /// Packed values that stay in place, in the caller's device memory: `head`, in host memory, is the result of
  /// PackedValues::save_head; the values begin at `values.data`. They are copied to the host once, to be compared as by
  /// load_packed, and kernels read them in place. Errors: as load_packed; misaligned_pointer (names 256),
  /// invalid_argument (too few bytes; host memory where the device is a GPU).
  PackedValues adopt_packed(std::span<const std::byte> head, const PackedMemory& values,
                            const LoadOptions& options = {}) const;
  /// As above, for device memory that holds exactly the result of PackedValues::save: the head, then the values.
  PackedValues adopt_packed(const PackedMemory& saved, const LoadOptions& options = {}) const;

  /// The choices and trials of the user's own cache and of memory, as `vostok cache dump` writes them: for programs
  /// that tune in one process and broadcast what it found. Kernels are not part of it.
  std::vector<std::byte> export_cache() const;
  /// Adds exported rows to the user's own cache, or to memory if that cannot be written. They replace rows of the same
  /// problem and device, except what was measured on this very device. Later plans are decided with them. Errors:
  /// invalid_argument naming the line that is wrong; nothing is added then.
  void import_cache(std::span<const std::byte> bytes) const;
  /// Reads the cache files again, including those that had failed, to see what other processes wrote, merged or
  /// installed meanwhile. Existing plans stay as they are.
  void reload() const;

  const DeviceInfo& device() const;
  Counters counters() const;

  const std::shared_ptr<ContextState>& state() const { return state_; }  ///< for the library

 private:
  std::shared_ptr<ContextState> state_;
};

}  // namespace vostok
