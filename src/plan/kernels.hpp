// From a kernel request to a loaded kernel: memory, then the code layers, then the compiler. One flight per kernel.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/single_flight.hpp"
#include "codegen/source.hpp"
#include "plan/session.hpp"

namespace vostok::plan {

/// The digest of machine code, which comments and renames do not change. Computed on first use, since most kernels are
/// only run.
class CodeDigest {
 public:
  explicit CodeDigest(std::string binary) : binary_(std::move(binary)) {}
  /// Thread-safe.
  const std::string& hex() const;

 private:
  mutable std::once_flag once_;
  mutable std::string binary_;  ///< until it is hashed
  mutable std::string hex_;
};

/// A kernel on this device, and what its compiler said.
struct ReadyKernel {
  std::shared_ptr<const device::Kernel> kernel;
  std::shared_ptr<const CodeDigest> code;
  int registers = 0;
  std::int64_t spill_bytes = 0;
  std::vector<std::string> warnings;
};

class Kernels {
 public:
  explicit Kernels(Session& session) : session_(session) {}

  /// Thread-safe. Calls `compiling` before it compiles, where it has to. Errors: missing_kernel (compiling is
  /// forbidden), no_compiler, compile_failed, device_failure.
  std::shared_ptr<const ReadyKernel> get(const codegen::KernelRequest& request, std::int64_t shared_bytes,
                                         const std::function<void()>& compiling = {});

  /// Whether it is loaded or in a code layer, so that getting it needs no compiler.
  bool has(const codegen::KernelRequest& request, std::int64_t shared_bytes) const;

 private:
  static std::string loaded_key(const codegen::KernelRequest& request, std::int64_t shared_bytes);
  ReadyKernel make(const codegen::KernelRequest& request, std::int64_t shared_bytes,
                   const std::function<void()>& compiling);
  /// Threads that want the same code share one compile: the first compiles, the others wait for its result.
  device::Image compile_once(const codegen::KernelRequest& request, const std::string& key,
                             const std::function<void()>& compiling);
  device::Image compile(const codegen::KernelRequest& request, const std::string& key);
  ReadyKernel load(device::Image image, std::int64_t shared_bytes);

  Session& session_;  ///< owns this
  /// Kernels stay loaded until the context ends: unloading one waits for the GPU.
  SingleFlight<std::string, ReadyKernel> loaded_;
  /// Code being compiled, by key. Kernels that differ only in the shared memory they request share one code.
  SingleFlight<std::string, device::Image> compiled_;
};

}  // namespace vostok::plan
