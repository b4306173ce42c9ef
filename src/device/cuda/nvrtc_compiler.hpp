// device::Compiler over NVRTC.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "device/cuda/nvrtc_library.hpp"
#include "device/device.hpp"

namespace vostok::device::cuda {

/// NVRTC is searched for on first use, so that the options (a part of every code key) are known without it.
class NvrtcCompiler : public Compiler {
 public:
  explicit NvrtcCompiler(std::optional<std::filesystem::path> chosen) : chosen_(std::move(chosen)) {}

  /// Errors: no_compiler.
  std::string identity() const override { return library().identity(); }
  std::vector<std::string> options() const override { return nvrtc_code_options(); }
  bool identity_in_key() const override { return false; }
  Image compile(const Source& source) const override;

  /// Opens NVRTC if it is not open yet; an error is not remembered. Errors: no_compiler.
  const Nvrtc& library() const;

 private:
  std::optional<std::filesystem::path> chosen_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Nvrtc> library_;
};

/// The target of a compile: a cubin if NVRTC knows the architecture ("sm_90a" counts as 90), else PTX of the highest
/// below it.
struct CompileTarget {
  std::string option;  ///< "-arch=sm_90" or "-arch=compute_121"
  bool ptx = false;
};
/// Errors: compile_failed if neither is possible; `known` is ascending.
CompileTarget choose_target(const std::string& architecture, const std::vector<int>& known);

}  // namespace vostok::device::cuda
